#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/reader.h"
#include "runtime/memory/buffer.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Work on many stripes of a file, one after another: they are read ahead, worked on by several threads
// at a time, and ended in order.
class StripeJob {
 public:
  virtual ~StripeJob() = default;

  // What stripe `i` needs to be read, one extent or a few; the same number for each.
  virtual std::vector<io::Extent> Reads(size_t i) const = 0;
  // On any thread, several stripes at once; `slot` is this one's alone until its End has returned.
  // `bytes` are as Reads asked.
  virtual Status Work(size_t i, size_t slot, std::span<const BufferRef> bytes) = 0;
  // One stripe at a time, in order.
  virtual Status End(size_t i, size_t slot) = 0;
};

struct StripeFlowOptions {
  size_t threads = 1;
  size_t slots = 2;            // Stripes between their read and their end.
  std::function<bool()> stop;  // Asked before each End: true ends the flow with kCancelled.
};

// Runs `job` for the stripes [first, end). The error of the first stripe that has one ends it, when
// those before it have ended; reads in flight are waited for.
// Its graph: read (asynchronous) -> work (wide) -> end (serial, in order).
Status RunStripes(StripeJob& job, size_t first, size_t end, io::Reader& reader,
                  const StripeFlowOptions& options);

// Slots that keep `threads` busy and the device reading, in so much memory; one at least.
size_t SlotsFor(size_t threads, uint64_t bytes_each, uint64_t memory);

}  // namespace penstock::k3
