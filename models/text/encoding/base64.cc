#include "models/text/encoding/base64.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::text {
namespace {

constexpr uint8_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> kDigits = [] {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<uint8_t, 256> digits{};
  for (uint8_t& digit : digits) digit = kNoDigit;
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}();

size_t PaddingOf(std::string_view text) {
  if (text.ends_with("==")) return 2;
  return text.ends_with('=') ? 1 : 0;
}

}  // namespace

bool DecodeBase64(std::string_view text, std::string& bytes) {
  bytes.clear();
  if (text.size() % 4 != 0) return false;
  const size_t padding = PaddingOf(text);
  text.remove_suffix(padding);
  for (size_t i = 0; i < text.size(); i += 4) {
    const std::string_view group = text.substr(i, 4);
    uint32_t bits = 0;
    for (size_t k = 0; k < 4; ++k) {
      const uint8_t digit = k < group.size() ? kDigits[static_cast<uint8_t>(group[k])] : 0;
      if (digit == kNoDigit) return false;
      bits = bits << 6 | digit;
    }
    const size_t count = group.size() - 1;
    for (size_t k = 0; k < count; ++k) bytes += static_cast<char>(bits >> (16 - 8 * k) & 0xFF);
    if ((bits & ((uint32_t{1} << (24 - 8 * count)) - 1)) != 0) return false;
  }
  return true;
}

}  // namespace penstock::text
