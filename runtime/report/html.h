#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Text as it stands in an HTML element or a quoted attribute: the five characters with a meaning
// are escaped, control characters (save tab and newline) and bytes that are not UTF-8 become U+FFFD.
std::string EscapeHtml(std::string_view text);

}  // namespace penstock
