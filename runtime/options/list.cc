#include "runtime/options/list.h"

namespace penstock {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace penstock
