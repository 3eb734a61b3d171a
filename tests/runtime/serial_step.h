#pragma once

#include <cstddef>

#include "runtime/memory/tsan.h"

namespace penstock {

// Tests that step through many cases on one thread take every case, but under ThreadSanitizer,
// which can find nothing there and makes each ten times as slow, one in so many.
#ifdef PENSTOCK_TSAN
inline constexpr size_t kSerialStep = 7;
#else
inline constexpr size_t kSerialStep = 1;
#endif

}  // namespace penstock
