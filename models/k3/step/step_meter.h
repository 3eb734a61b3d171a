#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/k3/experts/experts.h"
#include "models/k3/weights/packed/stripe_decoder.h"
#include "models/k3/weights/stream.h"

namespace penstock::k3 {

// What one step took. Bytes are counted for the step that used them, not for the time when they
// were read: the weights side runs ahead.
struct StepStats {
  uint64_t n = 0;  // From 0.
  uint64_t t_ns = 0;
  size_t positions = 0;
  uint64_t trunk_bytes = 0;  // Payload.
  uint64_t expert_bytes = 0;
  uint64_t head_bytes = 0;
  uint64_t embed_bytes = 0;
  uint64_t device_bytes = 0;  // All of them, each read rounded out to the alignment of its file.
  uint64_t reads = 0;         // Extents.
  uint64_t expert_hits = 0;
  uint64_t expert_misses = 0;  // Of them read ahead, and read for nothing, in bytes:
  uint64_t predicted_useful_bytes = 0;
  uint64_t predicted_wasted_bytes = 0;
  uint64_t stopped_by_ring = 0;  // How often the read-ahead stopped, by what bound it.
  uint64_t stopped_by_depth = 0;
  uint64_t decode_ns = 0;                                  // Of all threads, while this step ran,
  uint64_t decoded_bytes = 0;                              // and the bf16 bytes that came of it.
  std::vector<std::pair<std::string, uint64_t>> stall_ns;  // Nothing ran, by what ended the wait.
};

// Takes what the services have counted since their start apart, step by step.
// Threads: one, while no stage runs.
class StepMeter {
 public:
  // `decoders` is null without a pack. All are borrowed.
  StepMeter(const WeightStream& stream, const Experts& experts, const StripeDecoders* decoders)
      : stream_(stream), experts_(experts), decoders_(decoders) {}

  void Begin();
  // Step `n` has ended; `embed` is what its token's row took.
  StepStats Take(uint64_t n, const Traffic& embed) const;

 private:
  struct Counts {
    uint64_t ns = 0;
    Traffic experts;
    uint64_t hits = 0, misses = 0;
    Ahead ahead;
    uint64_t ring_stops = 0, depth_stops = 0;
    DecodeTraffic decode;
  };
  Counts Now() const;

  const WeightStream& stream_;
  const Experts& experts_;
  const StripeDecoders* const decoders_;
  Counts begin_;
};

}  // namespace penstock::k3
