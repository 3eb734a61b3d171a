#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/k3/step/figures.h"

namespace penstock::k3 {

// What bounds a step or a run.
enum class Bound : uint8_t {
  kNothing,  // There was no step.
  kDevice,   // The device had all that it can use, or reads in flight almost all the time.
  kCompute,
  kDecode,
  kNode,         // One node of the graph took most of the step, one body at a time.
  kDeviceDelay,  // Reads that took far longer than the others.
  kReadAhead,    // The device was waited for but had less than it can use.
  kSubmit,
  kRing,
  kDepth,
  kExperts,
  kGraph,
};

// "device", "compute", "node": a field of records.
std::string_view BoundName(Bound bound);

struct Verdict {
  Bound bound = Bound::kNothing;
  std::string sentence;  // What bounds it, and the numbers that prove it.
  std::string advice;    // What to change.
};

// The verdict on these figures; `what` is what they are of: "step" or "run". In this order:
//  1. a node whose bodies, one at a time, took half of the time (a serial node, or a single body of
//     a wide one that took ten times as long as the others on average), and more than in which the
//     device was full,
//  2. a device that was full for 90 % of the time,
//  3. bodies that ran for 90 % (compute, or decode where that is most of it),
//  4. one read of each step that took half of the time waited for reads, that being half of all, and
//     four times as long as half of the reads,
//  5. a device that was busy for 90 % of the time,
//  6. the cause (models/k3/step/causes.h) with the largest share.
Verdict Judge(const Figures& figures, std::string_view what);

}  // namespace penstock::k3
