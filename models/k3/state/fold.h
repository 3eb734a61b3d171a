#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/k3/state/state.h"
#include "ops/kernels/kernels.h"

namespace penstock::k3 {

// What a version is, apart from how its store happens to hold it: a base and the entries behind it.

// Brings one head of the base of a visit (StateStore::BeginKda of `before` and `layer`) to the
// position of `before`, and returns its state; null when that is zeros. Heads are independent.
// `taps` are those of the layer's first head. `scratch`: 3 * D floats.
const float* AdvanceBase(const SequenceState& before, const KdaVisit& visit, size_t layer,
                         size_t head, const ops::Kernels& kernels, const KdaTaps& taps,
                         float* scratch);

// One head of a KDA layer at the version's position, KdaLayout::head_floats: its base, advanced over
// the entries that follow; the version is left as it is. Not while a step runs.
void FoldHead(const SequenceState& version, size_t layer, size_t head, const ops::Kernels& kernels,
              const KdaTaps& taps, float* out, float* scratch);

// XXH3-64 over the position, every head so advanced, and the rows of every latent cache. `taps`
// [kda layers], as above. Equal after the same tokens, in whatever steps.
uint64_t FoldState(const SequenceState& version, const ops::Kernels& kernels,
                   std::span<const KdaTaps> taps);

}  // namespace penstock::k3
