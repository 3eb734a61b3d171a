#include "models/text/token_ids.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/small_file.h"

namespace penstock::text {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// A cursor over the text; every refusal names where it stands.
class IdReader {
 public:
  IdReader(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  Result<std::vector<TokenId>> ReadAll() {
    const bool list = Take('[');
    std::vector<TokenId> ids;
    SkipBlanks();
    while (at_ < text_.size() && text_[at_] != ']') {
      PENSTOCK_TRY(const TokenId id, ReadId());
      ids.push_back(id);
      const size_t end = at_;
      const bool comma = Take(',');
      SkipBlanks();
      const bool more = at_ < text_.size() && text_[at_] != ']';
      if (comma && !more) return Unexpected("an id behind the comma");
      if (more && at_ == end) return Unexpected("a comma or white space between ids");
    }
    if (list && !Take(']')) return Unexpected("']' at the end of the list");
    SkipBlanks();
    if (at_ < text_.size()) return Unexpected("nothing behind the ids");
    return ids;
  }

 private:
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  bool Take(char c) {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Result<TokenId> ReadId() {
    TokenId id = 0;
    const char* begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), id);
    if (error == std::errc::result_out_of_range) return Unexpected("an id below 2^32");
    if (error != std::errc()) return Unexpected("a token id in decimal");
    at_ += static_cast<size_t>(stop - begin);
    return id;
  }
  Error Unexpected(std::string_view expected) const {
    std::string got = at_ < text_.size() ? "'" : "the end";
    if (at_ < text_.size()) {
      for (const char c : text_.substr(at_, 20)) got += c >= 0x20 && c < 0x7F ? c : '?';
      got += "'";
    }
    return Refused(fmt::format("{}, byte {}: expected {}, got {}", source_, at_, expected, got));
  }

  std::string_view text_;
  std::string_view source_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<TokenId>> ParseIds(std::string_view text, std::string_view source) {
  return IdReader(text, source).ReadAll();
}

Result<std::vector<TokenId>> ReadIds(const std::string& path) {
  PENSTOCK_TRY(const std::string text, ReadSmallFile(path, size_t{64} << 20));
  return ParseIds(text, path);
}

std::string FormatIds(std::span<const TokenId> ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

}  // namespace penstock::text
