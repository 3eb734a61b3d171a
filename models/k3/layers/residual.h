#pragma once

#include "models/k3/layers/context.h"
#include "runtime/result.h"

namespace penstock::k3 {

// The attention residual: sub-layer outputs are added to the running sum acc of a block of layers,
// and the input of each sub-layer is a learned mix of the finished blocks and acc. There is no
// other residual: the mix itself is never added to anything. Each position of a step for itself.

// x = rms_norm(mix of blocks and acc; input_norm) before attention. At the first layer of a block
// acc then becomes a finished block (after it was mixed as it stood) and a new sum begins.
void MixBeforeAttention(Context& context);

// x = rms_norm(mix; post_attention_norm) before the MLP.
void MixBeforeMlp(Context& context);

// ahead_x = what MixBeforeMlp of `layer` would make of the stream as it stands: the input of its
// router as far as it is known before its attention, for the last position. Writes ahead_mixed and ahead_x alone.
void MixAhead(Context& context, size_t layer);

// x = rms_norm(mix; final norm) before the head, of the positions that get logits.
void MixBeforeHead(Context& context);

// acc += y (or acc = y at the first sub-layer of a block). Unsound when acc is not finite any more.
Status Combine(Context& context);

}  // namespace penstock::k3
