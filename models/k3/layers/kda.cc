#include "models/k3/layers/kda.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/k3/state/fold.h"

namespace penstock::k3 {
namespace {

// A head's inputs of q, k or v side by side, the last ones of the version before in front, so that
// the convolution of each position finds its history in the rows before it.
struct Inputs {
  float* rows;  // [taps - 1 + positions][D]
  const float* history(size_t t, size_t width) const { return rows + t * width; }
  float* input(size_t t, size_t kept, size_t width) const { return rows + (t + kept) * width; }
};

// Memory of one head's work, in a cache: grows once.
struct HeadScratch {
  HeadScratch(const KdaLayout& layout, size_t positions) {
    thread_local std::vector<float> memory;
    const size_t width = layout.width;
    const size_t inputs = (layout.taps - 1 + positions) * width;
    const size_t floats = width * width + 3 * inputs + 3 * width + 4 * width + 1;
    if (memory.size() < floats) memory.resize(floats);
    state = memory.data();
    q = {state + width * width};
    k = {q.rows + inputs};
    v = {k.rows + inputs};
    convolved = v.rows + inputs;
    entry = convolved + 3 * width;
  }
  float* state;
  Inputs q, k, v;
  float* convolved;  // [3][D]
  float* entry;      // Of one head, where the log keeps none.
};

// The inputs that the first positions look back at, and S where there is none yet.
void LoadHistory(const KdaLayout& layout, const float* state, const HeadScratch& scratch) {
  const size_t square = layout.width * layout.width;
  const size_t kept = layout.history_floats();
  size_t i = 0;
  for (const Inputs* inputs : {&scratch.q, &scratch.k, &scratch.v}) {
    if (state != nullptr) {
      std::copy_n(state + square + i * kept, kept, inputs->rows);
    } else {
      std::fill_n(inputs->rows, kept, 0.0f);
    }
    ++i;
  }
  if (state == nullptr) std::fill_n(scratch.state, square, 0.0f);
}

// Where position t leaves what the base will take in.
KdaEntry EntryOf(const Context& context, const HeadScratch& scratch, size_t t, size_t head) {
  KdaLayout layout = context.store.kda_layout();
  if (!context.log->folded) {
    const MutableBuffer& memory = context.log->entry(context.kda_ordinal, t);
    return {layout, reinterpret_cast<float*>(memory.data()), head};
  }
  layout.heads = 1;
  return {layout, scratch.entry, 0};
}

KdaEntry WriteEntry(const Context& context, const HeadScratch& scratch, size_t t, size_t head) {
  const Shape& shape = context.shape;
  const Activations& act = context.act;
  const size_t at = head * shape.kda_width;
  const KdaEntry entry = EntryOf(context, scratch, t, head);
  std::copy_n(act.kda_q[t] + at, shape.kda_width, entry.q);
  std::copy_n(act.kda_k[t] + at, shape.kda_width, entry.k);
  std::copy_n(act.kda_v[t] + at, shape.kda_width, entry.v);
  context.kernels.kda_decay(act.decay_b[t] + at, context.vectors().dt_bias + at, shape.kda_width,
                            context.vectors().decay_scale[head], shape.decay_bound, entry.alpha);
  context.kernels.sigmoid(act.beta[t] + head, 1, entry.beta);
  return entry;
}

// Convolves and normalises position t, and takes the step: reads `before`, writes scratch.state.
void StepPosition(const Context& context, const HeadScratch& scratch, const float* before, size_t t,
                  size_t head) {
  const Shape& shape = context.shape;
  const ops::Kernels& kernels = context.kernels;
  const LayerVectors& vectors = context.vectors();
  const size_t width = shape.kda_width;
  const size_t taps = context.store.kda_layout().taps_at(head);
  const KdaEntry entry = WriteEntry(context, scratch, t, head);
  float* const q = scratch.convolved;
  float* const k = q + width;
  float* const v = k + width;
  const auto convolve = [&](const Inputs& inputs, const float* input, const float* weights,
                            float* convolved) {
    std::copy_n(input, width, inputs.input(t, shape.conv_taps - 1, width));
    kernels.short_conv_silu(weights + taps, inputs.history(t, width), input, width, shape.conv_taps,
                            convolved);
  };
  convolve(scratch.q, entry.q, vectors.q_conv, q);
  convolve(scratch.k, entry.k, vectors.k_conv, k);
  convolve(scratch.v, entry.v, vectors.v_conv, v);
  kernels.l2_normalize(q, width, 1.0f / std::sqrt(static_cast<float>(width)), q);
  kernels.l2_normalize(k, width, 1.0f, k);
  float* const attended = context.act.attended[t] + head * width;
  kernels.kda_step(before, q, k, v, entry.alpha, *entry.beta, width, scratch.state, attended);
  kernels.gated_norm(attended, vectors.o_norm, context.act.gate[t] + head * width, width,
                     shape.norm_eps, attended);
}

}  // namespace

Status BeginKda(Context& context) {
  PENSTOCK_TRY(context.kda_visit,
               context.store.BeginKda(*context.before, *context.log, context.kda_ordinal));
  return {};
}

namespace {

// The base of a folded step is at its end.
void FoldInto(const Context& context, const HeadScratch& scratch, size_t head) {
  const KdaLayout& layout = context.store.kda_layout();
  KdaBase& base = *context.kda_visit.base;
  float* to = std::copy_n(scratch.state, layout.width * layout.width, base.head(layout, head));
  for (const Inputs* inputs : {&scratch.q, &scratch.k, &scratch.v}) {
    to = std::copy_n(inputs->history(context.positions, layout.width), layout.history_floats(), to);
  }
  base.positions[head] += context.positions;
}

}  // namespace

void KdaHead(Context& context, size_t head) {
  const KdaLayout& layout = context.store.kda_layout();
  const HeadScratch scratch(layout, context.positions);
  const float* const state =
      AdvanceBase(*context.before, context.kda_visit, context.kda_ordinal, head, context.kernels,
                  TapsOf(context.vectors()), scratch.convolved);
  LoadHistory(layout, state, scratch);
  for (size_t t = 0; t < context.positions; ++t) {
    StepPosition(context, scratch, t == 0 && state != nullptr ? state : scratch.state, t, head);
  }
  if (context.log->folded) FoldInto(context, scratch, head);
}

void EndKda(Context& context) {
  context.store.EndKda(*context.before, *context.log, context.kda_ordinal, context.kda_visit);
  context.kda_visit = {};
}

KdaTaps TapsOf(const LayerVectors& vectors) { return {vectors.k_conv, vectors.v_conv}; }

}  // namespace penstock::k3
