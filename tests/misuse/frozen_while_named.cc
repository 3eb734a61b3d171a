// Freeze() ends the writer: it is asked of an object that is given away.
// expect: discards qualifiers
#include <utility>

#include "runtime/memory/buffer.h"

penstock::BufferRef Share(penstock::MutableBuffer buffer) {
#ifdef MISUSE
  return buffer.Freeze();
#else
  return std::move(buffer).Freeze();
#endif
}
