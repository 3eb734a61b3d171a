#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/k3/synth/route_statistics.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Called with the tokens done so far, also within a token; false ends it with kCancelled.
using MeasureProgress = std::function<bool(uint64_t done)>;

// Runs the checkpoint in `directory` on `tokens` random ids (a function of the seed) and records
// which experts they chose, and which the next layer's router guessed: the top_k that it gives when
// it is applied to the residual stream as the layer before left it, mixed and normed as it would be
// before its own MLP. Layer 0 has nothing before it and no guess. The memory is what an engine
// plans for this machine. Errors: those of Engine::Open and of a step.
Result<RouteRecord> RecordRoutes(const std::string& directory, uint64_t tokens, uint64_t seed,
                                 const MeasureProgress& progress, const Notice& notice);

}  // namespace penstock::k3
