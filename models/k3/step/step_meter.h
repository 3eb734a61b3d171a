#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/picture.h"
#include "io/reader.h"
#include "models/k3/experts/experts.h"
#include "models/k3/step/causes.h"
#include "models/k3/step/device_watch.h"
#include "models/k3/step/figures.h"
#include "models/k3/weights/packed/decode_queue.h"
#include "models/k3/weights/packed/stripe_decoder.h"
#include "models/k3/weights/stream.h"

namespace penstock::k3 {

// What one step took. Bytes are counted for the step that used them, not for the time when they
// were read: the weights side runs ahead. `figures` is what happened while the step ran.
struct StepStats {
  uint64_t n = 0;  // From 0.
  uint64_t t_ns = 0;
  size_t positions = 0;
  uint64_t trunk_bytes = 0;  // Payload.
  uint64_t expert_bytes = 0;
  uint64_t head_bytes = 0;
  uint64_t embed_bytes = 0;
  uint64_t bytes() const { return trunk_bytes + expert_bytes + head_bytes + embed_bytes; }
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
  Figures figures;
};

// Where a meter looks. All are borrowed.
struct MeteredServices {
  io::Reader& reader;
  WeightStream& stream;
  const Experts& experts;
  const StripeDecoders* decoders = nullptr;  // Null without a pack,
  DecodeQueue* decode = nullptr;             // and where stripes are not decoded on arrival.
  size_t threads = 1;
};

// Takes what the services have counted since their start apart, step by step.
// Threads: one, while no stage runs; Observe from any.
class StepMeter {
 public:
  StepMeter(const MeteredServices& services, const IdleClock<kWaits>& idle);

  // The nodes of the graph, once it has them.
  void Watch(graph::Picture& picture) { picture_ = &picture; }
  void Observe(const io::ReadSpan& read) { watch_.Observe(read); }

  void Begin();
  // Step `n` has ended; `embed` is what the rows of its tokens took.
  StepStats Take(uint64_t n, size_t positions, const Traffic& embed);

 private:
  struct Counts {
    uint64_t ns = 0;
    Traffic experts;
    uint64_t hits = 0, misses = 0;
    Ahead ahead;
    uint64_t ring_stops = 0, depth_stops = 0;
    DecodeTraffic decode;
    std::vector<io::DeviceStats> devices;
    std::vector<uint64_t> messages, busy_ns;  // [nodes]
  };
  Counts Now() const;
  std::vector<NodeUse> NodesSince(const Counts& now);
  Figures FiguresOf(const Counts& now, const StepStats& stats);
  Causes SplitTime(const Counts& now, const Figures& figures, const StepStats& stats);

  const MeteredServices s_;
  const IdleClock<kWaits>& idle_;
  graph::Picture* picture_ = nullptr;
  DeviceWatch watch_;
  Counts begin_;
  // Of SplitTime and FiguresOf, kept for their memory.
  std::vector<TimeSpan> reading_, asked_, stops_, decode_;
  std::vector<IdleSpan> idle_spans_;
  std::vector<Edge> edges_;
};

}  // namespace penstock::k3
