#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::text {

// The ids of a tokenizer and their bytes.
//
//   ids [0, ranks)            byte strings, merged in order of rank: one line of `tiktoken.model`
//                             each, `base64(bytes) SPACE rank`, ranks 0, 1, 2, ... in order, all
//                             256 single bytes among them, no byte string twice
//   ids [ranks, ranks + 256)  special: spelled by `tokenizer_config.json`,
//                             added_tokens_decoder["<id>"].content, and where that is silent
//                             `<|reserved_token_<id>|>`
//   ids above                 not in the files (a padded head of the model): spelled as reserved
//
// Immutable once made. Threads: const calls are re-entrant.
class Vocabulary {
 public:
  static constexpr size_t kSpecials = 256;
  static constexpr size_t kMaxTokenBytes = 4096;
  // Twenty times what the release has; a file's own size bounds what reading it may allocate.
  static constexpr size_t kMaxRanksFileBytes = size_t{64} << 20;
  static constexpr size_t kMaxConfigFileBytes = size_t{1} << 20;

  // Both contents with the names they are reported under. `vocab_size`: the model's number of ids;
  // ranks + 256 may not exceed it. Every defect is kRefused with file, line, expected and got.
  struct Source {
    std::string file;
    std::string content;
  };
  static Result<Vocabulary> Parse(const Source& ranks, const Source& config, size_t vocab_size);
  static Result<Vocabulary> Load(const std::string& directory, size_t vocab_size);

  // Moves keep the views of ranks_ valid, copies would not.
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  size_t rank_count() const { return offsets_.size() - 1; }
  size_t size() const { return rank_count() + kSpecials; }
  bool IsSpecial(TokenId id) const { return id >= rank_count(); }
  size_t longest_rank_bytes() const { return longest_; }

  std::optional<TokenId> FindRank(std::string_view bytes) const;
  std::optional<TokenId> FindSpecial(std::string_view spelling) const;
  std::string Bytes(TokenId id) const;

 private:
  Vocabulary() = default;
  Status ParseRanks(const Source& source, size_t vocab_size);
  Status ParseSpecials(const Source& source);
  Status AddRank(std::string_view line, const std::string& place);
  Status CheckSingleBytes(const std::string& file) const;
  std::string_view RankBytes(TokenId id) const {
    return {bytes_.data() + offsets_[id], offsets_[id + 1] - offsets_[id]};
  }

  std::vector<char> bytes_;                              // All ranks behind each other.
  std::vector<uint32_t> offsets_ = {0};                  // [ranks + 1] into bytes_.
  std::unordered_map<std::string_view, TokenId> ranks_;  // Views into bytes_.
  std::vector<std::string> spellings_;                   // [256]
  std::unordered_map<std::string, TokenId> specials_;
  size_t longest_ = 0;
};

}  // namespace penstock::text
