#pragma once

namespace penstock {

// Prints the broken condition with its place and aborts. For our own mistakes only: causes from
// outside are Results.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace penstock

#define PENSTOCK_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::penstock::CheckFailed(__FILE__, __LINE__, #condition))
