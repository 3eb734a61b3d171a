#include "models/k3/step/step_meter.h"

#include <algorithm>

#include "runtime/measure/clock.h"

namespace penstock::k3 {

StepMeter::StepMeter(const MeteredServices& services, const IdleClock<kWaits>& idle)
    : s_(services), idle_(idle) {
  watch_.Reset(services.reader.devices().size());
}

StepMeter::Counts StepMeter::Now() const {
  Counts now;
  now.devices = s_.reader.devices();
  now.experts = s_.experts.traffic();
  now.hits = s_.experts.hits();
  now.misses = s_.experts.misses();
  now.ahead = s_.experts.ahead();
  now.ring_stops = s_.stream.stops(WeightStream::Bound::kByRing);
  now.depth_stops = s_.stream.stops(WeightStream::Bound::kByDepth);
  if (s_.decoders != nullptr) now.decode = s_.decoders->traffic();
  if (picture_ != nullptr) {
    for (const graph::NodeFacts& node : picture_->nodes()) {
      now.messages.push_back(node.messages.load(std::memory_order_relaxed));
      now.busy_ns.push_back(node.busy_ns.load(std::memory_order_relaxed));
    }
  }
  now.ns = NowNs(Clock::kWall);
  return now;
}

void StepMeter::Begin() {
  begin_ = Now();
  watch_.Begin(begin_.ns);
  if (picture_ == nullptr) return;
  for (graph::NodeFacts& node : picture_->nodes()) node.longest_ns.store(0);
}

StepStats StepMeter::Take(uint64_t n, size_t positions, const Traffic& embed) {
  const Counts now = Now();
  const Traffic trunk = s_.stream.trunk(n);
  const Traffic head = s_.stream.head(n);
  StepStats stats;
  stats.n = n;
  stats.t_ns = now.ns - begin_.ns;
  stats.positions = positions;
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
  stats.stall_ns = {{"embed", idle_.idle_ns(kOnEmbed)},
                    {"trunk", idle_.idle_ns(kOnTrunk)},
                    {"expert", idle_.idle_ns(kOnExpert)},
                    {"graph", idle_.idle_ns(kOnGraph)}};
  stats.figures = FiguresOf(now, stats);
  return stats;
}

std::vector<NodeUse> StepMeter::NodesSince(const Counts& now) {
  std::vector<NodeUse> nodes;
  if (picture_ == nullptr) return nodes;
  nodes.reserve(now.messages.size());
  size_t i = 0;
  for (const graph::NodeFacts& node : picture_->nodes()) {
    nodes.push_back({.name = node.name,
                     .serial = node.width == 1,
                     .arithmetic = node.arithmetic,
                     .messages = now.messages[i] - begin_.messages[i],
                     .busy_ns = now.busy_ns[i] - begin_.busy_ns[i],
                     .longest_ns = node.longest_ns.load(std::memory_order_relaxed)});
    ++i;
  }
  return nodes;
}

Figures StepMeter::FiguresOf(const Counts& now, const StepStats& stats) {
  Figures figures;
  figures.steps = 1;
  figures.wall_ns = stats.t_ns;
  figures.threads = s_.threads;
  figures.ring_stops = stats.stopped_by_ring;
  figures.depth_stops = stats.stopped_by_depth;
  figures.expert_hits = stats.expert_hits;
  figures.expert_misses = stats.expert_misses;
  figures.nodes = NodesSince(now);
  for (const NodeUse& node : figures.nodes) {
    if (node.arithmetic) figures.body_ns += node.busy_ns;
  }
  std::vector<uint64_t> busy_ns;
  for (size_t i = 0; i < now.devices.size(); ++i) {
    figures.devices.push_back(now.devices[i].Since(begin_.devices[i]));
    busy_ns.push_back(figures.devices.back().busy_ns);
  }
  reading_.clear();
  asked_.clear();
  figures.slowest = watch_.Take(begin_.ns, now.ns, busy_ns, &reading_, &asked_);
  figures.slowest_ns = figures.slowest.ns;
  figures.causes = SplitTime(now, figures, stats);
  return figures;
}

Causes StepMeter::SplitTime(const Counts& now, const Figures& figures, const StepStats& stats) {
  StepTimes times;
  times.begin_ns = begin_.ns;
  times.end_ns = now.ns;
  idle_spans_.assign(idle_.spans().begin(), idle_.spans().end());
  for (size_t kind = 0; kind < kOnEnd; ++kind) times.unlisted[kind] = idle_.idle_ns(kind);
  for (const IdleSpan& span : idle_spans_) {
    times.unlisted[span.kind] -= span.end_ns - span.begin_ns;
  }
  idle_spans_.push_back({idle_.since_ns(), now.ns, kOnEnd});
  times.idle = idle_spans_;
  stops_.clear();
  s_.stream.stop_times().Take(now.ns, &stops_);
  times.stops = stops_;
  decode_.clear();
  if (s_.decode != nullptr) {
    s_.decode->work_times().Take(now.ns, &decode_);
  } else {
    times.decode_in_bodies_ns = stats.decode_ns;
  }
  times.decode = decode_;
  times.reading = reading_;
  times.asked = asked_;
  times.body_ns = figures.body_ns;
  return Attribute(times, &edges_);
}

}  // namespace penstock::k3
