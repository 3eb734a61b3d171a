#pragma once

#include <cstdint>
#include <span>

#include "models/k3/bench/positions/positions.h"
#include "models/k3/experts/routes.h"
#include "models/k3/step/step_meter.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Different experts of all layers together.
uint64_t UniqueExperts(std::span<const Route> routes);

// Adds a chunk to `sum`. kUnsound, with both numbers, when its step has read anything but the
// experts that `routes` name and the cache did not have, each once. What a prediction of a step
// before it read for nothing may be counted in this one: it is left out.
Status AddChunk(std::span<const Route> routes, const StepStats& step, ChunkFigures& sum);

}  // namespace penstock::k3
