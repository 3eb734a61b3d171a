#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "graph/arena.h"
#include "models/k3/step/step_observer.h"
#include "models/k3/weights/packed/stripe_decoder.h"
#include "models/k3/weights/pass.h"
#include "models/k3/weights/stream.h"
#include "runtime/measure/span_log.h"
#include "runtime/memory/byte_ring.h"

namespace penstock::k3 {

// The decode node: stripes that have arrived are decoded whole, several at a time, on the workers of
// an arena of their own, into a ring of decoded bytes.
//
// Invariant: places in the ring are given in order of use, whatever order stripes arrive in, so that
// a ring of the largest decoded extent is enough: the stripe that is needed next is never behind
// one that is not. A stripe's stored bytes are dropped when it is decoded.
// Threads: any.
class DecodeQueue {
 public:
  // The stream has its pins already.
  DecodeQueue(const Pass& pass, WeightStream& stream, ByteRing& ring, StripeDecoders& decoders,
              graph::Arena& arena);

  // Decodes extent `number`, which the stream holds as it is stored or has failed to read; the
  // stream then holds the result or the error. `done` is called once, on a worker of the arena or,
  // while paused, at once: then nothing is decoded.
  void Decode(uint32_t number, std::function<void()> done);

  // While paused everything that waits is answered, and nothing begins. Restart forgets where the
  // pass was, when nothing is in flight, and ends the pause.
  void Pause();
  void Restart();

  // When at least one stripe was being decoded; taken out step by step.
  SpanLog& work_times() { return work_times_; }
  // Is told of each stripe on the thread that decoded it; null for nobody. Borrowed.
  void Observe(StepObserver* observer) { observer_.store(observer); }

 private:
  void Pump();
  void Run(uint32_t number);
  void Unpack(uint32_t number, BufferRef stored);
  void CountWorker(int change);

  const Pass& pass_;
  WeightStream& stream_;
  ByteRing& ring_;
  StripeDecoders& decoders_;
  graph::Arena& arena_;

  std::atomic<StepObserver*> observer_{nullptr};
  std::mutex work_mutex_;
  int working_ = 0;
  SpanLog work_times_{4096};

  std::mutex mutex_;
  bool paused_ = false;
  uint32_t next_;                            // In order of use.
  std::vector<std::function<void()>> done_;  // [extents] of stripes that wait or are decoded now.
  std::vector<bool> waiting_;                // [extents]
  std::vector<MutableBuffer> places_;        // [extents] of stripes that are decoded now.
};

}  // namespace penstock::k3
