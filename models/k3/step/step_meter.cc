#include "models/k3/step/step_meter.h"

#include "graph/stage.h"

namespace penstock::k3 {

StepMeter::Counts StepMeter::Now() const {
  Counts now;
  now.ns = NowNs(Clock::kWall);
  now.experts = experts_.traffic();
  now.hits = experts_.hits();
  now.misses = experts_.misses();
  now.ahead = experts_.ahead();
  now.ring_stops = stream_.stops(WeightStream::Bound::kByRing);
  now.depth_stops = stream_.stops(WeightStream::Bound::kByDepth);
  if (decoders_ != nullptr) now.decode = decoders_->traffic();
  return now;
}

void StepMeter::Begin() { begin_ = Now(); }

StepStats StepMeter::Take(uint64_t n, const Traffic& embed) const {
  const Counts now = Now();
  const Traffic trunk = stream_.trunk(n);
  const Traffic head = stream_.head(n);
  StepStats stats;
  stats.n = n;
  stats.t_ns = now.ns - begin_.ns;
  stats.positions = 1;
  stats.trunk_bytes = trunk.payload;
  stats.head_bytes = head.payload;
  stats.embed_bytes = embed.payload;
  stats.expert_bytes = now.experts.payload - begin_.experts.payload;
  stats.device_bytes =
      trunk.device + head.device + embed.device + now.experts.device - begin_.experts.device;
  stats.reads = trunk.reads + head.reads + embed.reads + now.experts.reads - begin_.experts.reads;
  stats.expert_hits = now.hits - begin_.hits;
  stats.expert_misses = now.misses - begin_.misses;
  stats.predicted_useful_bytes = now.ahead.useful_bytes - begin_.ahead.useful_bytes;
  stats.predicted_wasted_bytes = now.ahead.wasted_bytes - begin_.ahead.wasted_bytes;
  stats.stopped_by_ring = now.ring_stops - begin_.ring_stops;
  stats.stopped_by_depth = now.depth_stops - begin_.depth_stops;
  stats.decode_ns = now.decode.ns - begin_.decode.ns;
  stats.decoded_bytes = now.decode.raw_bytes - begin_.decode.raw_bytes;
  return stats;
}

}  // namespace penstock::k3
