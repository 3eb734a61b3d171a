#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "io/reader.h"
#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"
#include "models/k3/weights/pass.h"
#include "runtime/memory/byte_ring.h"
#include "runtime/memory/region.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What a replay takes over from the run it stands for.
struct ReplayPlan {
  std::vector<uint32_t> pinned;    // Extents that are not read.
  uint64_t ring_bytes = 0;         // At least the largest extent, rounded out.
  uint64_t experts_per_layer = 0;  // Read in each mixture-of-experts layer: misses, not uses.
};

// The reads of steps without their arithmetic: what the device alone needs for the same plan. Trunk
// extents run ahead of their use through a ring of the same size; the experts of a layer are
// demanded when its router has arrived; what comes after them in the layer is used when they have.
// What arrives is dropped at once.
//
// Which experts are read is drawn, how many is the plan's: a step reads the same bytes.
// Threads: one caller; completions on the reader's threads. All arguments are borrowed and outlive
// it; the reader must be at rest between two runs.
class PlanReplay {
 public:
  static Result<std::unique_ptr<PlanReplay>> Create(const Pass& pass, const Catalogue& catalogue,
                                                    const Shape& shape, io::Reader& reader,
                                                    const ReplayPlan& plan);
  ~PlanReplay();
  PlanReplay(const PlanReplay&) = delete;
  PlanReplay& operator=(const PlanReplay&) = delete;

  // Uses all extents of `steps` passes in order; reads for the pass after the last one run ahead as
  // they would in a run that goes on. The next call begins with what they brought. The first error
  // of a read ends it.
  Status Run(size_t steps);

  // Makes a running Run, or the next one, return kCancelled soon. Any thread.
  void Cancel();

  uint64_t step_bytes() const { return step_bytes_; }  // Payload of one pass.

 private:
  PlanReplay(const Pass& pass, const Catalogue& catalogue, const Shape& shape, io::Reader& reader,
             const ReplayPlan& plan, HugeRegion ring, HugeRegion experts);
  void MeasurePass();
  void ReadAhead(std::unique_lock<std::mutex>& lock);
  bool Use();  // The next extent, when it may be used.
  void DemandExperts(size_t layer, std::unique_lock<std::mutex>& lock);
  void Arrived(uint32_t extent, Result<BufferRef> bytes);
  void ExpertArrived(const Result<BufferRef>& bytes);
  void Settle();  // Until no read is in flight.

  const Pass& pass_;
  const Catalogue& catalogue_;
  const Shape& shape_;
  io::Reader& reader_;
  const ReplayPlan plan_;
  HugeRegion ring_memory_;
  HugeRegion expert_memory_;
  ByteRing ring_;
  uint64_t step_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<BufferRef> held_;  // [extents] arrived and not used.
  std::vector<bool> here_;       // [extents]
  std::vector<bool> pinned_;     // [extents]
  std::vector<bool> waits_;      // [extents] used after the experts of its layer only.
  uint64_t admitted_ = 0;        // Extents, over all passes,
  uint64_t used_ = 0;            // and how many of them were used.
  size_t in_flight_ = 0;
  size_t experts_left_ = 0;       // Reads of the layer's experts that have not arrived.
  std::optional<size_t> demand_;  // A layer whose router has just been used.
  uint64_t drawn_ = 0;
  std::optional<Error> error_;
};

}  // namespace penstock::k3
