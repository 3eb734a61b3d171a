#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>

#include "runtime/options/options.h"

namespace penstock::k3 {

// A value of a row that may not be there: in a table, and in JSON.
inline std::string Factor(const std::optional<double>& value, int digits = 2) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}
inline Json OrNull(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace penstock::k3
