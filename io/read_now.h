#pragma once

#include "io/reader.h"

namespace penstock::io {

// Reads one extent and waits for it: for start-up, never from a stage. The read goes through the
// reader like any other, so that it is paced, counted and checked.
Result<BufferRef> ReadInto(Reader& reader, const Extent& extent, MutableBuffer buffer);

// The same into a buffer of its own.
Result<BufferRef> ReadNow(Reader& reader, const Extent& extent);

}  // namespace penstock::io
