#include "models/k3/options.h"

#include <algorithm>

#include <fmt/format.h>

namespace penstock::k3 {

Result<Pin> ParsePin(const std::string& text) {
  auto size = ParseSize(text);
  if (!size) {
    return Refused(fmt::format(
        "--pin expects a number of layers such as 4 or a size such as 2G, got \"{}\"", text));
  }
  const bool bare =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return bare ? Pin{.layers = size->bytes, .bytes = 0} : Pin{.layers = 0, .bytes = size->bytes};
}

}  // namespace penstock::k3
