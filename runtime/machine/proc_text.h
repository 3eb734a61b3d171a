#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

// Reading the small texts of /proc and /sys.

// The decimal number at the start of `text`, after blanks.
std::optional<uint64_t> FirstNumber(std::string_view text);

// The number on the line that begins with the word `field`: NumberAfter(status, "VmRSS:").
std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view field);

// The rest of the first line that begins with `field`, without blanks and colons around it; "" if
// there is none.
std::string TextAfter(std::string_view text, std::string_view field);

// Without blanks and newlines at both ends.
std::string Trim(std::string_view text);

}  // namespace penstock
