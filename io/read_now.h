#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "io/reader.h"

namespace penstock::io {

// Reads one extent and waits for it: for start-up, never from a stage. The read goes through the
// reader like any other, so that it is paced, counted and checked.
Result<BufferRef> ReadInto(Reader& reader, const Extent& extent, MutableBuffer buffer);

// The same into a buffer of its own.
Result<BufferRef> ReadNow(Reader& reader, const Extent& extent);

// One of many that are read to stay.
struct Placed {
  Extent extent;
  MutableBuffer buffer;  // BufferBytes(extent) of it.
};

// Called with the bytes of all that has arrived, on the caller's thread, ten times a second at
// least; false ends it with kCancelled.
using GoOn = std::function<bool(uint64_t done_bytes)>;

// Reads all of them, `depth` > 0 at a time, as trunk: what arrived, in their order. The first error
// ends it; no read is in flight when it returns.
Result<std::vector<BufferRef>> ReadMany(Reader& reader, std::vector<Placed> all, size_t depth,
                                        const GoOn& go_on);

}  // namespace penstock::io
