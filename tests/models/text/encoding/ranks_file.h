#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::text {

inline std::string Base64Of(const std::string& bytes) {
  constexpr const char* kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kAlphabet[bits >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

// A `tiktoken.model` of the 256 single bytes in order and then `tokens`.
inline std::string RanksFile(const std::vector<std::string>& tokens) {
  std::string file;
  size_t rank = 0;
  const auto add = [&](const std::string& bytes) {
    file += Base64Of(bytes) + " " + std::to_string(rank++) + "\n";
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const std::string& token : tokens) add(token);
  return file;
}

}  // namespace penstock::text
