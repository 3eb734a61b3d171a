#include "models/k3/layers/mla.h"

#include <algorithm>
#include <vector>

#include "ops/attention.h"

namespace penstock::k3 {

void NormQuery(Context& context) {
  for (size_t t = 0; t < context.positions; ++t) {
    context.kernels.rms_norm(context.act.q_a[t], context.vectors().q_a_norm, context.shape.q_rank,
                             kLatentNormEps, context.act.q_latent[t]);
  }
}

Status AppendLatent(Context& context) {
  const Shape& shape = context.shape;
  PENSTOCK_TRY_VOID(context.store.AppendRows(*context.log, context.mla_ordinal));
  for (size_t t = 0; t < context.positions; ++t) {
    const float* const kv_a = context.act.kv_a[t];
    float* const row = context.store.Row(*context.log, context.mla_ordinal, context.log->first + t);
    context.kernels.rms_norm(kv_a, context.vectors().kv_a_norm, shape.kv_rank, kLatentNormEps, row);
    std::copy_n(kv_a + shape.kv_rank, shape.rope, row + shape.kv_rank);
  }
  return {};
}

void AttendLatent(Context& context, const uint16_t* kv_b, size_t first_row, size_t rows) {
  const Shape& shape = context.shape;
  const ops::LatentShape latent{shape.mla_heads, shape.nope, shape.rope, shape.value,
                                shape.kv_rank};
  const size_t head_rows = shape.nope + shape.value;
  const size_t group_rows = ops::kHeadGroup * head_rows;

  thread_local std::vector<const float*> pages;  // Grows once to the pages of the context.
  pages.clear();
  for (const auto& page : context.log->pages[context.mla_ordinal]) pages.push_back(page->rows());

  for (size_t row = first_row; row < first_row + rows; row += group_rows) {
    const size_t group = row / group_rows;
    const size_t head = group * ops::kHeadGroup;
    for (size_t t = 0; t < context.positions; ++t) {
      ops::LatentAttention(context.kernels, latent, group, kv_b + (row - first_row) * shape.kv_rank,
                           context.act.mla_q[t] + head * (shape.nope + shape.rope), pages,
                           context.log->first + t + 1,
                           context.act.latent_scratch + group * context.act.latent_scratch_floats,
                           context.act.attended[t] + head * shape.value);
    }
  }
}

void GateAttended(Context& context) {
  for (size_t t = 0; t < context.positions; ++t) {
    float* const attended = context.act.attended[t];
    context.kernels.sigmoid_gate(attended, context.act.gate[t], context.shape.mla_value_total(),
                                 attended);
  }
}

}  // namespace penstock::k3
