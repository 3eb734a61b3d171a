#include "models/k3/state/fold.h"

#include <algorithm>
#include <vector>

#include "io/pack/sum/sum.h"
#include "ops/attention.h"
#include "runtime/check.h"

namespace penstock::k3 {
namespace {

// From position `at` to the version's.
void AdvanceOver(const SequenceState& version, size_t layer, size_t head,
                 const ops::Kernels& kernels, const KdaTaps& taps, size_t& at, float* state,
                 float* scratch) {
  const StepLog& log = *version.log;
  const KdaLayout& layout = log.store->kda_layout();
  const size_t own_taps = layout.taps_at(head);
  const KdaTaps own{taps.k + own_taps, taps.v + own_taps};
  PENSTOCK_CHECK(at >= log.first && at <= version.position());
  for (; at < version.position(); ++at) {
    const MutableBuffer& memory = log.entry(layer, at - log.first);
    PENSTOCK_CHECK(memory.data() != nullptr);
    const KdaEntry entry(layout, reinterpret_cast<float*>(memory.data()), head);
    AdvanceHead(kernels, layout, own, entry, state, scratch);
  }
}

}  // namespace

const float* AdvanceBase(const SequenceState& before, const KdaVisit& visit, size_t layer,
                         size_t head, const ops::Kernels& kernels, const KdaTaps& taps,
                         float* scratch) {
  if (visit.base == nullptr) return nullptr;
  const KdaLayout& layout = before.log->store->kda_layout();
  KdaBase& base = *visit.base;
  float* const state = base.head(layout, head);
  if (visit.source != nullptr) {
    std::copy_n(visit.source->head(layout, head), layout.head_floats(), state);
    base.positions[head] = visit.source->positions[head];
  } else if (visit.fresh) {
    std::fill_n(state, layout.head_floats(), 0.0f);
    base.positions[head] = before.log->first;
  }
  AdvanceOver(before, layer, head, kernels, taps, base.positions[head], state, scratch);
  return state;
}

void FoldHead(const SequenceState& version, size_t layer, size_t head, const ops::Kernels& kernels,
              const KdaTaps& taps, float* out, float* scratch) {
  const StepLog& log = *version.log;
  const KdaLayout& layout = log.store->kda_layout();
  size_t at = log.first;
  if (const KdaBase* base = log.bases[layer].get()) {
    std::copy_n(base->head(layout, head), layout.head_floats(), out);
    at = base->positions[head];
  } else {
    std::fill_n(out, layout.head_floats(), 0.0f);
  }
  AdvanceOver(version, layer, head, kernels, taps, at, out, scratch);
}

Status ForEachPart(const SequenceState& version, const ops::Kernels& kernels,
                   std::span<const KdaTaps> taps, const PartSink& sink) {
  const StateStore& store = *version.log->store;
  const KdaLayout& layout = store.kda_layout();
  PENSTOCK_CHECK(taps.size() == store.kda_layers());
  std::vector<float> head(layout.head_floats());
  std::vector<float> scratch(3 * layout.width);
  for (size_t layer = 0; layer < store.kda_layers(); ++layer) {
    for (size_t h = 0; h < layout.heads; ++h) {
      FoldHead(version, layer, h, kernels, taps[layer], head.data(), scratch.data());
      PENSTOCK_TRY_VOID(sink(std::as_bytes(std::span(head))));
    }
  }
  for (size_t layer = 0; layer < store.mla_layers(); ++layer) {
    size_t left = version.position();
    for (const auto& page : store.PagesOf(version, layer)) {
      const size_t rows = std::min(left, ops::kPagePositions);
      const std::span<const float> floats(page->rows(), rows * store.page_width());
      PENSTOCK_TRY_VOID(sink(std::as_bytes(floats)));
      left -= rows;
    }
    PENSTOCK_CHECK(left == 0);
  }
  return {};
}

uint64_t FoldState(const SequenceState& version, const ops::Kernels& kernels,
                   std::span<const KdaTaps> taps) {
  io::RunningSum sum;
  const uint64_t position = version.position();
  sum.Add(std::as_bytes(std::span(&position, 1)));
  const Status added =
      ForEachPart(version, kernels, taps, [&sum](std::span<const std::byte> part) -> Status {
        sum.Add(part);
        return {};
      });
  PENSTOCK_CHECK(added.has_value());
  return sum.value();
}

}  // namespace penstock::k3
