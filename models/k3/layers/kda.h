#pragma once

#include "models/k3/layers/context.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Kimi Delta Attention of one layer, after its input projections.

// Takes what the layer's heads continue and what they write. Before the first head.
Status BeginKda(Context& context);

// One head: brings its part of the layer's base to where the step begins, then goes through the
// positions of the step with the state in a scratch of its own, which stays in a cache: short
// convolution, normalisation, decay, delta-rule step, gated norm. Writes the head's part of the log
// and of act.attended. Heads are independent: any number may run at once.
void KdaHead(Context& context, size_t head);

// Lets go of what the layer's base has taken in. After the last head.
void EndKda(Context& context);

// The convolutions of a KDA layer that its state follows from, borrowed: those of its first head,
// the others behind them (KdaLayout::taps_at).
KdaTaps TapsOf(const LayerVectors& vectors);

}  // namespace penstock::k3
