#pragma once

#include <array>
#include <cstddef>

#include "models/k3/weights/catalogue.h"

namespace penstock::k3 {

inline constexpr size_t kExpertTensors = 6;

// The tensors of an expert in the order of ExpertView's fields.
std::array<io::Extent, kExpertTensors> TensorsOf(const ExpertTensors& expert);

// How an expert is read: tensors that lie one behind the other in a file are one extent. The release
// stores all six so.
struct ExpertReads {
  std::array<io::Extent, kExpertTensors> extents;
  size_t count = 0;
  const io::Extent* begin() const { return extents.data(); }
  const io::Extent* end() const { return begin() + count; }
};
ExpertReads ReadsOf(const ExpertTensors& expert);

}  // namespace penstock::k3
