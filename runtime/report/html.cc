#include "runtime/report/html.h"

#include <cstddef>
#include <cstdint>

namespace penstock {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool Continues(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// Bytes of the UTF-8 character at the start of `text`; 0 when there is none.
size_t CharacterBytes(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t bytes = first < 0x80                    ? 1
                       : first >= 0xC2 && first < 0xE0 ? 2
                       : first >= 0xE0 && first < 0xF0 ? 3
                       : first >= 0xF0 && first < 0xF5 ? 4
                                                       : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if (!Continues(text[i])) return 0;
  }
  const auto second = bytes > 1 ? static_cast<uint8_t>(text[1]) : uint8_t{0};
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return overlong || outside ? 0 : bytes;
}

void AppendAscii(char c, std::string& out) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    case '\t':
    case '\n':
      out += c;
      return;
    default:
      break;
  }
  if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
    out += kReplacement;
  } else {
    out += c;
  }
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    if (bytes == 1) {
      AppendAscii(text[0], out);
    } else if (bytes == 0) {
      out += kReplacement;
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace penstock
