#pragma once

#include <cstddef>

#include "runtime/memory/tsan.h"

// ThreadSanitizer does not see the kernel write into a buffer. These two tell it: a race between
// such a write and a thread that still uses the buffer, or uses it before the completion, is
// reported like any other. Nothing in other builds.

#ifdef PENSTOCK_TSAN
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void __tsan_write_range(void* address, unsigned long bytes);
}
#endif

namespace penstock::io {

// Before the read is handed to the kernel.
inline void AnnotateSubmission([[maybe_unused]] std::byte* data) {
#ifdef PENSTOCK_TSAN
  __tsan_release(data);
#endif
}

// After its completion was taken: `bytes` were written at `data`.
inline void AnnotateCompletion([[maybe_unused]] std::byte* data, [[maybe_unused]] size_t bytes) {
#ifdef PENSTOCK_TSAN
  __tsan_acquire(data);
  __tsan_write_range(data, bytes);
#endif
}

}  // namespace penstock::io
