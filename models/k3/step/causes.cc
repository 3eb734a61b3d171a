#include "models/k3/step/causes.h"

#include <algorithm>

namespace penstock::k3 {
namespace {

// What may be the case at an instant, besides the kinds of idle time, which come first.
enum Flag : uint32_t { kDecoding = kWaits, kByRing, kByDepth, kReading, kAsked, kFlags };

using Counts = std::array<int32_t, kFlags>;

void AddEdges(uint64_t begin, uint64_t end, uint32_t flag, const StepTimes& times,
              std::vector<Edge>* edges) {
  begin = std::max(begin, times.begin_ns);
  end = std::min(end, times.end_ns);
  if (begin >= end) return;
  edges->push_back({begin, flag, 1});
  edges->push_back({end, flag, -1});
}

void CollectEdges(const StepTimes& times, std::vector<Edge>* edges) {
  edges->clear();
  for (const IdleSpan& span : times.idle) {
    AddEdges(span.begin_ns, span.end_ns, span.kind, times, edges);
  }
  for (const TimeSpan& span : times.stops) {
    AddEdges(span.begin_ns, span.end_ns, kByRing + span.kind, times, edges);
  }
  const std::pair<std::span<const TimeSpan>, Flag> lists[] = {
      {times.decode, kDecoding}, {times.reading, kReading}, {times.asked, kAsked}};
  for (const auto& [spans, flag] : lists) {
    for (const TimeSpan& span : spans) {
      AddEdges(span.begin_ns, span.end_ns, flag, times, edges);
    }
  }
  std::sort(edges->begin(), edges->end(), [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
}

bool IsIdle(const Counts& now) {
  return std::any_of(now.begin(), now.begin() + kWaits, [](int32_t count) { return count > 0; });
}

// Of an idle instant.
Cause CauseOf(const Counts& now) {
  if (now[kOnEnd] > 0) return Cause::kOther;
  if (now[kOnGraph] > 0) return Cause::kGraph;
  if (now[kOnExpert] > 0) {
    return now[kReading] > 0 || now[kAsked] > 0 ? Cause::kExpertWait : Cause::kGraph;
  }
  if (now[kOnTrunk] > 0 && now[kDecoding] > 0) return Cause::kDecode;
  if (now[kReading] > 0) return Cause::kDevice;
  if (now[kAsked] > 0) return Cause::kSubmit;
  if (now[kByRing] > 0) return Cause::kRingFull;
  if (now[kByDepth] > 0) return Cause::kRingEmpty;
  return Cause::kGraph;
}

// Where only the kind of an idle time is known.
Cause LikelyCause(size_t kind) {
  if (kind == kOnEnd) return Cause::kOther;
  if (kind == kOnGraph) return Cause::kGraph;
  return kind == kOnExpert ? Cause::kExpertWait : Cause::kDevice;
}

}  // namespace

std::string_view CauseName(Cause cause) {
  constexpr std::string_view kNames[kCauses] = {"device",      "submit",    "decode",
                                                "compute",     "ring_full", "ring_empty",
                                                "expert_wait", "graph",     "other"};
  return kNames[static_cast<size_t>(cause)];
}

Causes Attribute(const StepTimes& times, std::vector<Edge>* scratch) {
  Causes causes{};
  const auto charge = [&](Cause cause, uint64_t ns) { causes[static_cast<size_t>(cause)] += ns; };
  CollectEdges(times, scratch);
  Counts now{};
  uint64_t since = times.begin_ns;
  uint64_t idle = 0;
  for (const Edge& edge : *scratch) {
    if (edge.ns > since && IsIdle(now)) {
      charge(CauseOf(now), edge.ns - since);
      idle += edge.ns - since;
    }
    since = edge.ns;
    now[edge.flag] += edge.change;
  }
  uint64_t busy = times.end_ns - times.begin_ns - idle;
  for (size_t kind = 0; kind < kWaits; ++kind) {
    const uint64_t ns = std::min(times.unlisted[kind], busy);
    charge(LikelyCause(kind), ns);
    busy -= ns;
  }
  uint64_t decode = 0;
  if (times.body_ns > 0) {
    const double share = std::min(
        1.0, static_cast<double>(times.decode_in_bodies_ns) / static_cast<double>(times.body_ns));
    decode = static_cast<uint64_t>(share * static_cast<double>(busy));
  }
  charge(Cause::kDecode, decode);
  charge(Cause::kCompute, busy - decode);
  return causes;
}

}  // namespace penstock::k3
