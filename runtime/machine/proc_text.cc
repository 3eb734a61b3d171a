#include "runtime/machine/proc_text.h"

#include <algorithm>
#include <charconv>

namespace penstock {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

// What follows `field` on the first line that has it as its first word.
std::optional<std::string_view> LineAfter(std::string_view text, std::string_view field) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view rest = line.substr(line.starts_with(field) ? field.size() : line.size());
    const bool whole_word =
        !rest.empty() && (field.ends_with(':') || rest.find_first_of(" \t:") == 0);
    if (whole_word) return rest;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> FirstNumber(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data() + start, text.data() + text.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view field) {
  const auto rest = LineAfter(text, field);
  return rest ? FirstNumber(*rest) : std::nullopt;
}

std::string TextAfter(std::string_view text, std::string_view field) {
  const auto rest = LineAfter(text, field);
  if (!rest) return "";
  const size_t start = rest->find_first_not_of(" \t:");
  return start == std::string_view::npos ? "" : Trim(rest->substr(start));
}

std::string Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

}  // namespace penstock
