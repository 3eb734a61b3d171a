#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/read_now.h"
#include "io/reader.h"
#include "models/k3/weights/pass.h"
#include "models/k3/weights/traffic.h"
#include "runtime/measure/span_log.h"
#include "runtime/memory/byte_ring.h"

namespace penstock::k3 {

class StripeDecoders;

// The weights side: admits the extents of pass after pass into the ring, in order of use, while
// they fit, ahead of the tokens and over the end of a step into the next one.
//
// Invariants:
//  1. An extent is admitted for a step only after it was met in the step before: the ring never holds
//     more than one pass, and an extent's number is enough to say what it is.
//  2. Admission goes no further than the step given to Allow and the layer given to Reach plus depth.
//  3. Pinned extents, whichever they are, are never admitted: their bytes are held for the whole run.
// Threads: Admit on one thread at a time (a serial stage); the rest on any.
class WeightStream {
 public:
  // `depth`: layers that may be in the ring, the one being computed counted; 0 for no bound.
  // `decoded`: stripes are decoded between Read and Take (DecodeQueue), not by the product.
  WeightStream(const Pass& pass, size_t layers, io::Reader& reader, ByteRing& ring, uint64_t depth,
               bool decoded = false);

  // Reads these extents, given in order of use, and holds them as they are stored. Once, before the
  // first Admit. `memory` takes each of them rounded out, at multiples of the alignment:
  // MemoryPlan::pinned_bytes.
  Status Pin(std::span<const uint32_t> extents, std::byte* memory, const io::GoOn& go_on = {});
  // The same for a pass over stripes, which it decodes: `memory` takes their rows, `staging` one
  // stripe rounded out.
  Status PinDecoded(std::span<const uint32_t> extents, std::byte* memory,
                    std::span<std::byte> staging, StripeDecoders& decoders,
                    const io::GoOn& go_on = {});

  // Calls emit(extent) for each extent that has got its place in the ring now.
  void Admit(const std::function<void(uint32_t)>& emit);

  // Starts the read of an admitted extent. `done` runs on an I/O thread when it can be taken.
  void Read(uint32_t extent, std::function<void()> done);

  // The bytes of an extent whose read is done, or of a pinned one; a read one is given once. An
  // extent that could not be read is an error here, in the step that needs it, and not earlier: the
  // step before it may still end well.
  Result<BufferRef> Take(uint32_t extent);
  // The same without taking them, for a reader beside the product: nothing where they are not here.
  // Only for whoever would take them, so that it does not happen meanwhile.
  std::optional<BufferRef> Peek(uint32_t extent) const;
  bool IsPinned(uint32_t extent) const { return pinned_[extent]; }
  // The first extent at or behind `extent` that streams, in a ring of passes; the number of extents
  // when none does.
  uint32_t NextStreamed(uint32_t extent) const;
  // Reads under way or waiting.
  size_t reading() const { return reading_.load(std::memory_order_relaxed); }
  // Whether Take gives the stripe as it is stored, for the product to decode, or the rows.
  bool GivesStripe(uint32_t extent) const {
    return pass_.packed() && !(IsPinned(extent) ? pinned_decoded_ : decoded_);
  }

  // For whoever decodes between Read and Take: the stored bytes, nothing where they could not be
  // read; then the rows, or why there are none.
  std::optional<BufferRef> TakeStored(uint32_t extent);
  void PutDecoded(uint32_t extent, Result<BufferRef> rows) { Keep(extent, std::move(rows)); }

  void Allow(uint64_t step) { allowed_step_.store(step); }
  void Reach(uint64_t step, size_t layer) { reached_.store(step * (layers_ + 1) + layer); }

  // What was read for `step` so far (trunk, head). The slots of two steps are kept.
  Traffic trunk(uint64_t step) const;
  Traffic head(uint64_t step) const;

  // After a step that did not end well, paused and with nothing in flight: Drop forgets what
  // arrived, which gives bytes back to the ring and so wakes admission once more; when that has
  // come to rest Restart begins again with the first extent of `step`.
  void Drop();
  void Restart(uint64_t step);
  void Pause(bool paused) { paused_.store(paused); }

  // How often admission stopped, by what bound it.
  enum class Bound : uint8_t { kByRing, kByDepth };
  uint64_t stops(Bound bound) const { return stops_[static_cast<size_t>(bound)].load(); }
  // When it stood still, by what bound it; taken out step by step.
  SpanLog& stop_times() { return stop_times_; }

 private:
  bool MayAdmit(uint32_t extent);
  void NoteStop(Bound bound);
  void Count(uint32_t extent);
  void Keep(uint32_t extent, Result<BufferRef> bytes);
  void Begin();

  const Pass& pass_;
  const size_t layers_;
  io::Reader& reader_;
  ByteRing& ring_;
  const uint64_t depth_;
  const bool decoded_;
  bool pinned_decoded_ = false;
  std::vector<bool> pinned_;                    // [extents]
  uint32_t first_streamed_ = 0;                 // The number of extents when all are pinned.
  std::vector<BufferRef> held_;                 // [extents] pinned, or arrived and not yet taken
  std::vector<std::unique_ptr<Error>> failed_;  // [extents] arrived without its bytes
  std::vector<MutableBuffer> admitted_;         // [extents] place in the ring until the read starts
  std::vector<std::atomic<bool>> outstanding_;  // [extents] admitted and not yet taken

  uint64_t stopped_at_ = 0;  // The extent, counted over all steps, that was last seen to wait.
  uint64_t step_ = 0;        // Of the next extent to admit,
  uint32_t cursor_ = 0;      // and its number.
  std::atomic<uint64_t> allowed_step_{0};
  std::atomic<uint64_t> reached_{0};
  std::atomic<bool> paused_{false};
  std::atomic<size_t> reading_{0};
  std::array<std::atomic<uint64_t>, 2> stops_{};
  SpanLog stop_times_{4096};
  mutable std::mutex traffic_mutex_;
  std::array<Traffic, 2> trunk_;  // By step parity.
  std::array<Traffic, 2> head_;
};

}  // namespace penstock::k3
