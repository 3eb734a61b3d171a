#include "models/k3/config/options.h"

#include <algorithm>

#include <fmt/format.h>

namespace penstock::k3 {

Result<Pin> ParsePin(const std::string& text) {
  if (text == "auto") return Pin{.automatic = true};
  const bool bare = std::none_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  const bool whole = text.find('.') == std::string::npos;
  const auto size = ParseSize(text);
  if (!size || (bare && !whole)) {
    return Refused(fmt::format(
        "--pin expects auto, a number of layers such as 4 or a size such as 2G, got \"{}\"", text));
  }
  return bare ? Pin{.layers = size->bytes} : Pin{.bytes = size->bytes};
}

}  // namespace penstock::k3
