#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::text {

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

// What stands at the front of a byte string.
struct Utf8Char {
  enum class Kind {
    kValid,
    kInvalid,     // `bytes` is the longest beginning of a character that can not become one, or 1.
    kIncomplete,  // The string ends inside a character that may still become valid.
  };
  Kind kind = Kind::kInvalid;
  size_t bytes = 0;  // Of the front: never 0 for a string that is not empty.
  char32_t code = 0;
};

// Decodes the first character of `text` (not empty). Overlong forms, surrogates and codes above
// U+10FFFF are invalid. Source: The Unicode Standard, table 3-7 (well-formed UTF-8) and its
// "substitution of maximal subparts", which is what Python's errors="replace" does.
Utf8Char DecodeUtf8(std::string_view text);

bool IsValidUtf8(std::string_view text);

// One U+FFFD for each invalid or, at the end, incomplete part.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace penstock::text
