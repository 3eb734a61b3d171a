#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// "a,b" as {"a", "b"}; an empty text is one empty part, so that whoever knows the names refuses it.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace penstock
