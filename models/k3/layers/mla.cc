#include "models/k3/layers/mla.h"

#include <algorithm>
#include <vector>

#include "ops/attention.h"

namespace penstock::k3 {

void NormQuery(Context& context) {
  context.kernels.rms_norm(context.act.q_a, context.vectors().q_a_norm, context.shape.q_rank,
                           kLatentNormEps, context.act.q_latent);
}

Status AppendLatent(Context& context) {
  const Shape& shape = context.shape;
  auto& pages = context.next->pages[context.mla_ordinal];
  PENSTOCK_TRY(float* const row, context.store.AppendRow(pages, context.before->position()));
  context.kernels.rms_norm(context.act.kv_a, context.vectors().kv_a_norm, shape.kv_rank,
                           kLatentNormEps, row);
  std::copy_n(context.act.kv_a + shape.kv_rank, shape.rope, row + shape.kv_rank);
  return {};
}

void AttendLatent(Context& context, const uint16_t* kv_b, size_t first_row, size_t rows) {
  const Shape& shape = context.shape;
  const ops::LatentShape latent{shape.mla_heads, shape.nope, shape.rope, shape.value,
                                shape.kv_rank};
  const size_t head_rows = shape.nope + shape.value;
  const size_t group_rows = ops::kHeadGroup * head_rows;
  const size_t positions = context.before->position() + 1;

  thread_local std::vector<const float*> pages;  // Grows once to the pages of the context.
  pages.clear();
  for (const auto& page : context.next->pages[context.mla_ordinal]) pages.push_back(page->rows());

  for (size_t row = first_row; row < first_row + rows; row += group_rows) {
    const size_t group = row / group_rows;
    const size_t head = group * ops::kHeadGroup;
    ops::LatentAttention(context.kernels, latent, group, kv_b + (row - first_row) * shape.kv_rank,
                         context.act.mla_q + head * (shape.nope + shape.rope), pages, positions,
                         context.act.latent_scratch + group * context.act.latent_scratch_floats,
                         context.act.attended + head * shape.value);
  }
}

void GateAttended(Context& context) {
  context.kernels.sigmoid_gate(context.act.attended, context.act.gate,
                               context.shape.mla_value_total(), context.act.attended);
}

}  // namespace penstock::k3
