#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/measure/idle_clock.h"
#include "runtime/measure/span_log.h"

namespace penstock::k3 {

// What the wall time of a step went to. The causes partition it: every instant has exactly one, and
// they sum to the step.
//
// An instant is "busy" when at least one body of the graph did arithmetic. All others are idle, and
// each idle interval ends with a body that could not start earlier: its kind (Waited) decides
// together with what reader, read-ahead and decoder did meanwhile. The first that holds counts:
//
//   compute      busy, less the share for decode
//   decode       of the busy time the share that all threads together spent decoding inside bodies
//                (--decode fused); of the idle time the instants at which a decode node worked and
//                the interval ended with weights of the trunk
//   graph        idle that ended with work which waited for no read: hand-over of messages and
//                bookkeeping between stages
//   expert wait  idle that ended with a routed expert, while a read was asked for or in flight
//   device       idle that ended with weights of the trunk or the embedding row, while at least one
//                read was submitted to a device and not complete
//   submit       the same, while reads had been asked for but none was submitted
//   ring full    the same, while no read was asked for and the read-ahead stood still because the
//                next extent did not fit the ring
//   ring empty   the same, while the read-ahead stood still for --depth
//   graph        idle that ended with weights for which nothing of the above was going on: they had
//                arrived and were being handed over
//   other        from the last body to the end of the step
enum class Cause : uint8_t {
  kDevice,
  kSubmit,
  kDecode,
  kCompute,
  kRingFull,
  kRingEmpty,
  kExpertWait,
  kGraph,
  kOther,
};
inline constexpr size_t kCauses = 9;
using Causes = std::array<uint64_t, kCauses>;  // ns, indexed by Cause.

// "device", "ring_full": names of fields.
std::string_view CauseName(Cause cause);

// What a body had waited for that ended an idle interval; kOnEnd: the step ended.
enum Waited : size_t { kOnEmbed, kOnTrunk, kOnExpert, kOnGraph, kOnEnd, kWaits };

// What happened between the begin and the end of a step. Spans of one list are in order of time and
// do not overlap; they may reach over both ends.
struct StepTimes {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  std::span<const IdleSpan> idle;           // Of the kinds above.
  std::array<uint64_t, kWaits> unlisted{};  // Idle time that has no span in `idle`, by kind.
  std::span<const TimeSpan> decode;         // At least one decode node worked.
  std::span<const TimeSpan> stops;          // Kind: WeightStream::Bound.
  std::span<const TimeSpan> reading;        // Of all devices, may overlap: reads submitted,
  std::span<const TimeSpan> asked;          // and asked for but not submitted.
  uint64_t body_ns = 0;                     // Of all threads, in bodies that do arithmetic,
  uint64_t decode_in_bodies_ns = 0;         // and what of it went to decoding.
};

// `scratch` keeps its memory from step to step.
struct Edge {
  uint64_t ns = 0;
  uint32_t flag = 0;
  int32_t change = 0;
};
Causes Attribute(const StepTimes& times, std::vector<Edge>* scratch);

}  // namespace penstock::k3
