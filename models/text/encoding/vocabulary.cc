#include "models/text/encoding/vocabulary.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/text/encoding/base64.h"
#include "models/text/encoding/special_spellings.h"
#include "runtime/small_file.h"

namespace penstock::text {
namespace {

// A stretch of a hostile file as it may stand in a message: short and printable.
std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string quoted = "'";
  for (const char c : text.substr(0, kShown)) quoted += c >= 0x20 && c < 0x7F ? c : '?';
  return quoted + (text.size() > kShown ? "...'" : "'");
}

std::string ReservedSpelling(uint64_t id) { return fmt::format("<|reserved_token_{}|>", id); }

}  // namespace

Result<Vocabulary> Vocabulary::Load(const std::string& directory, size_t vocab_size) {
  Source ranks{directory + "/tiktoken.model", {}};
  Source config{directory + "/tokenizer_config.json", {}};
  PENSTOCK_TRY(ranks.content, ReadSmallFile(ranks.file, kMaxRanksFileBytes));
  PENSTOCK_TRY(config.content, ReadSmallFile(config.file, kMaxConfigFileBytes));
  return Parse(ranks, config, vocab_size);
}

Result<Vocabulary> Vocabulary::Parse(const Source& ranks, const Source& config, size_t vocab_size) {
  Vocabulary vocabulary;
  PENSTOCK_TRY_VOID(vocabulary.ParseRanks(ranks, vocab_size));
  PENSTOCK_TRY_VOID(vocabulary.ParseSpecials(config));
  return vocabulary;
}

Status Vocabulary::ParseRanks(const Source& source, size_t vocab_size) {
  std::string_view rest = source.content;
  // The views of ranks_ need bytes_ to stay where it is: three bytes of every four are the most.
  bytes_.reserve(rest.size() / 4 * 3 + 3);
  const size_t room = vocab_size - std::min(vocab_size, kSpecials);
  constexpr size_t kShortestLine = sizeof("AA== 0\n") - 1;
  ranks_.reserve(std::min(rest.size() / kShortestLine + 1, room));
  for (size_t rank = 0; !rest.empty(); ++rank) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string place = fmt::format("{}, line {}", source.file, rank + 1);
    if (rank == room) {
      return Refused(fmt::format(
          "{}: expected at most {} ranks, so that they and {} special ids fit the model's "
          "vocabulary of {}, got more",
          place, room, kSpecials, vocab_size));
    }
    PENSTOCK_TRY_VOID(AddRank(rest.substr(0, end), place));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return CheckSingleBytes(source.file);
}

Status Vocabulary::AddRank(std::string_view line, const std::string& place) {
  const size_t blank = line.find(' ');
  const std::string_view number = blank == line.npos ? "" : line.substr(blank + 1);
  const size_t rank = rank_count();
  if (number != std::to_string(rank)) {
    return Refused(fmt::format("{}: expected base64 bytes, a blank and the rank {}, got {}", place,
                               rank, Quoted(line)));
  }
  const std::string_view encoded = line.substr(0, blank);
  std::string bytes;
  if (!DecodeBase64(encoded, bytes) || bytes.empty() || bytes.size() > kMaxTokenBytes) {
    return Refused(fmt::format("{}: expected 1 to {} bytes in base64, got {}", place,
                               kMaxTokenBytes, Quoted(encoded)));
  }
  const size_t begin = bytes_.size();
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  longest_ = std::max(longest_, bytes.size());
  const auto [first, added] = ranks_.emplace(std::string_view(bytes_.data() + begin, bytes.size()),
                                             static_cast<TokenId>(rank));
  if (!added) {
    return Refused(fmt::format("{}: expected bytes that no other rank has, got those of rank {}",
                               place, first->second));
  }
  return {};
}

Status Vocabulary::CheckSingleBytes(const std::string& file) const {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (!FindRank({&c, 1})) {
      return Refused(fmt::format(
          "{}: expected a rank for each of the 256 single bytes, got none for byte 0x{:02x} among "
          "{} ranks",
          file, byte, rank_count()));
    }
  }
  return {};
}

Status Vocabulary::ParseSpecials(const Source& source) {
  PENSTOCK_TRY(const auto listed, ParseSpecialSpellings(source.content, source.file));
  spellings_.assign(kSpecials, {});
  for (const auto& [id, spelling] : listed) {
    if (id < rank_count() || id >= size()) {
      return Refused(fmt::format(
          "{}: added_tokens_decoder: expected special ids {} to {} (the {} behind {} ranks), got "
          "{} for {}",
          source.file, rank_count(), size() - 1, kSpecials, rank_count(), id, Quoted(spelling)));
    }
    spellings_[id - rank_count()] = spelling;
  }
  for (size_t i = 0; i < kSpecials; ++i) {
    const size_t id = rank_count() + i;
    if (spellings_[i].empty()) spellings_[i] = ReservedSpelling(id);
    const auto [first, added] = specials_.emplace(spellings_[i], static_cast<TokenId>(id));
    if (!added) {
      return Refused(fmt::format(
          "{}: added_tokens_decoder: expected a spelling of its own for id {}, got {}, which is "
          "also that of id {}",
          source.file, id, Quoted(spellings_[i]), first->second));
    }
  }
  return {};
}

std::optional<TokenId> Vocabulary::FindRank(std::string_view bytes) const {
  if (bytes.size() > longest_) return std::nullopt;
  const auto found = ranks_.find(bytes);
  if (found == ranks_.end()) return std::nullopt;
  return found->second;
}

std::optional<TokenId> Vocabulary::FindSpecial(std::string_view spelling) const {
  const auto found = specials_.find(std::string(spelling));
  if (found == specials_.end()) return std::nullopt;
  return found->second;
}

std::string Vocabulary::Bytes(TokenId id) const {
  if (id < rank_count()) return std::string(RankBytes(id));
  if (id < size()) return spellings_[id - rank_count()];
  return ReservedSpelling(id);
}

}  // namespace penstock::text
