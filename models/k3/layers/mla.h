#pragma once

#include "models/k3/layers/context.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Gated multi-head latent attention of one layer, for the positions of a step. What is cached is the latent and the
// shared rope slots, not expanded keys; no rotation is applied anywhere.

// act.q_latent = rms_norm(act.q_a). The two latent norms have an epsilon of their own, 1e-6: the
// released modelling file constructs them without one.
void NormQuery(Context& context);

// Normalises the latents of act.kv_a and appends them, with the rope slots as they are, to the
// layer's cache in context.log.
Status AppendLatent(Context& context);

// Attention of the heads whose kv_b rows are `rows` rows from `first_row` on: whole groups of
// ops::kHeadGroup heads. A position attends to itself and to those before it, also of its own step.
// Writes their part of act.attended. Groups are independent.
void AttendLatent(Context& context, const uint16_t* kv_b, size_t first_row, size_t rows);

// act.attended *= sigmoid(act.gate). After all heads.
void GateAttended(Context& context);

}  // namespace penstock::k3
