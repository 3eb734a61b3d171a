// A MutableBuffer has exactly one writer: it moves, it is never copied.
// expect: use of deleted function
#include <utility>

#include "runtime/memory/buffer.h"

penstock::MutableBuffer Take(penstock::MutableBuffer buffer) {
#ifdef MISUSE
  penstock::MutableBuffer other = buffer;
#else
  penstock::MutableBuffer other = std::move(buffer);
#endif
  return other;
}
