// What is shared is read-only.
// expect: read-only
#include "runtime/memory/buffer.h"

std::byte First(const penstock::BufferRef& buffer) {
#ifdef MISUSE
  buffer.data()[0] = std::byte{1};
#endif
  return buffer.data()[0];
}
