#pragma once

#include "models/k3/layers/context.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Kimi Delta Attention of one layer and position, after its input projections.

// Takes a block for the layer's new state. Before the first head.
Status BeginKda(Context& context);

// One head: short convolution, normalisation, decay, delta-rule step, gated norm. Reads the head's
// part of the state before, writes its part of the new one and of act.attended. Heads are
// independent: any number may run at once.
void KdaHead(Context& context, size_t head);

// Publishes the layer's new state in context.next. After the last head.
void EndKda(Context& context);

}  // namespace penstock::k3
