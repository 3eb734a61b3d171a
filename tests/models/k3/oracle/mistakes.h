#pragma once

#include <set>

namespace penstock::k3::oracle {

// Readings of the architecture that look right and are wrong. The reference model can be told to
// make one, which shows that the expectations of a checkpoint would notice it in an engine.
enum class Mistake {
  // KDA
  kDecayPerChannel,       // A_log indexed by channel, its tail used.
  kDecayBiasPerHead,      // dt_bias taken per head.
  kDecayClamped,          // max(bound, softplus form).
  kDecayBiasAfterScale,   // exp(A) * z0 + bias.
  kDecayAfterUpdate,      // The delta update sees the undecayed state.
  kReadBeforeUpdate,      // Output from the state before the update.
  kDeltaFromUndecayed,    // Only the prediction is taken from the undecayed state.
  kDecayOnValueChannels,  // Columns instead of rows.
  kMeanNormalisedQk,      // q and k divided by their RMS.
  kNormalisedV,
  kTapsReversed,
  kConvWithoutSilu,
  kSiluBeforeConv,
  kConvHistoryConvolved,  // The history keeps outputs instead of projected inputs.
  kConvHistoryForgotten,
  kKdaGateBeforeNorm,
  kKdaGateSilu,
  // MLA
  kMlaScaleWithoutRope,  // nope^-0.5.
  kRopeDropped,
  kRopeRotated,
  kKvRowsSplit,  // All keys, then all values.
  kMlaGateForgotten,
  kLatentNormEps,  // rms_norm_eps in the two latent norms.
  // Residuals
  kMixNormalised,  // The normalised sources are averaged.
  kPushBeforeMix,  // The block is closed before the input mix, which sees it twice.
  kBlockNotReset,  // acc goes on over a boundary.
  kMixAddedBack,   // acc = u + y.
  kFinalMixOmitted,
  kBlocksKeptForNext,  // The blocks of one token are sources of the next.
  // Feed-forward
  kWeightsBiased,  // Expert weights from the biased scores.
  kBiasIgnored,    // Experts chosen by the unbiased scores.
  kScoresSoftmax,
  kRouterUnnormed,     // The router sees the mixed vector before its norm.
  kNormPerExpert,      // Each expert's output is normalised instead of the sum.
  kLatentNormOmitted,  // The sum goes into the up-projection without its norm.
  kSharedForgotten,
  kExpertDropped,   // The last chosen expert counts as zero.
  kSituGateCapped,  // sigmoid of the capped gate.
  kSituCapsForgotten,
  // Ends
  kHeadTied,
  kFinalNormOmitted,
  kCount,
};

using Mistakes = std::set<Mistake>;

}  // namespace penstock::k3::oracle
