#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/reader.h"
#include "runtime/memory/buffer.h"
#include "runtime/result.h"

namespace penstock::io {

// Reads extents in order with several reads in flight. Threads: one; the reader outlives it.
class ExtentFeed {
 public:
  // `most_bytes` bounds an extent, `depth` > 0 the reads in flight.
  static Result<ExtentFeed> Make(Reader& reader, uint64_t most_bytes, size_t depth);

  // Calls `take` with the bytes of each extent in turn; they are valid during the call. The first
  // error, of a read or of `take`, ends it. No read is in flight when it returns.
  using Take = std::function<Status(size_t i, std::span<const std::byte> bytes)>;
  Status Run(std::span<const Extent> extents, const Take& take);

 private:
  ExtentFeed(Reader& reader, std::vector<MutableBuffer> slots)
      : reader_(&reader), slots_(std::move(slots)) {}

  Reader* reader_;
  std::vector<MutableBuffer> slots_;
};

}  // namespace penstock::io
