#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "models/k3/state/state.h"
#include "ops/kernels/kernels.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What a version is, however its store happens to hold it: of each KDA layer the heads at the
// version's position, of each MLA layer the rows of all positions up to it. The store has a base of
// each KDA layer, at that position or an earlier one, and the entries from there on.

// Brings one head of the base of a visit (StateStore::BeginKda of `before` and `layer`) to the
// position of `before`, and returns its state; null when that is zeros. Heads are independent.
// `taps` are those of the layer's first head. `scratch`: 3 * D floats.
const float* AdvanceBase(const SequenceState& before, const KdaVisit& visit, size_t layer,
                         size_t head, const ops::Kernels& kernels, const KdaTaps& taps,
                         float* scratch);

// One head of a KDA layer at the version's position, KdaLayout::head_floats: its base, advanced
// over the entries that follow; the version is left as it is. Not while a step runs.
void FoldHead(const SequenceState& version, size_t layer, size_t head, const ops::Kernels& kernels,
              const KdaTaps& taps, float* out, float* scratch);

// Gives `sink` all of a version in f32, part by part: of each KDA layer every head (FoldHead), then
// of each MLA layer the rows of all positions, [position][page width], a page at a time. A part is
// valid during the call. Ends with the first error of `sink`, and has none of its own. `taps` [kda
// layers], as above. Not while a step runs.
using PartSink = std::function<Status(std::span<const std::byte> part)>;
Status ForEachPart(const SequenceState& version, const ops::Kernels& kernels,
                   std::span<const KdaTaps> taps, const PartSink& sink);

// XXH3-64 over the position and all parts. Equal after the same tokens, in whatever steps.
uint64_t FoldState(const SequenceState& version, const ops::Kernels& kernels,
                   std::span<const KdaTaps> taps);

}  // namespace penstock::k3
