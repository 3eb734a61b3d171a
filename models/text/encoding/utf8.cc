#include "models/text/encoding/utf8.h"

namespace penstock::text {
namespace {

using Kind = Utf8Char::Kind;

// What a lead byte promises: how many bytes follow, and the range of the first of them, which is
// where overlong forms, surrogates and codes above U+10FFFF are excluded.
struct Lead {
  size_t continuation = 0;  // 0: no lead byte.
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
};

Lead LeadOf(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {2};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return {3};
  return {};
}

}  // namespace

Utf8Char DecodeUtf8(std::string_view text) {
  const auto byte = static_cast<uint8_t>(text[0]);
  if (byte < 0x80) return {Kind::kValid, 1, byte};
  Lead lead = LeadOf(byte);
  if (lead.continuation == 0) return {Kind::kInvalid, 1, kReplacement};
  char32_t code = byte & (0x3F >> lead.continuation);
  for (size_t i = 1; i <= lead.continuation; ++i) {
    if (i == text.size()) return {Kind::kIncomplete, i, kReplacement};
    const auto next = static_cast<uint8_t>(text[i]);
    if (next < lead.low || next > lead.high) return {Kind::kInvalid, i, kReplacement};
    lead.low = 0x80;
    lead.high = 0xBF;
    code = (code << 6) | (next & 0x3F);
  }
  return {Kind::kValid, lead.continuation + 1, code};
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char front = DecodeUtf8(text);
    if (front.kind != Kind::kValid) return false;
    text.remove_prefix(front.bytes);
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char front = DecodeUtf8(text);
    valid += front.kind == Kind::kValid ? text.substr(0, front.bytes) : kReplacementUtf8;
    text.remove_prefix(front.bytes);
  }
  return valid;
}

}  // namespace penstock::text
