#pragma once

#include <cstddef>
#include <cstring>

namespace penstock {

// Debug builds fill freed memory with bytes that are NaN in bf16, f16 and f32, so that a use after
// the last reference dropped is seen in the result and not as plausible output.
inline void Poison([[maybe_unused]] std::byte* data, [[maybe_unused]] size_t bytes) {
#ifndef NDEBUG
  std::memset(data, 0xff, bytes);
#endif
}

}  // namespace penstock
