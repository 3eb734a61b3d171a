#include "models/k3/state/fold.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <xxhash.h>

#include "ops/attention.h"
#include "runtime/check.h"

namespace penstock::k3 {
namespace {

class Sum {
 public:
  Sum() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void Add(const void* bytes, size_t size) { XXH3_64bits_update(state_.get(), bytes, size); }
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

// From position `at` to the version's.
void AdvanceOver(const SequenceState& version, size_t layer, size_t head,
                 const ops::Kernels& kernels, const KdaTaps& taps, size_t& at, float* state,
                 float* scratch) {
  const StepLog& log = *version.log;
  const KdaLayout& layout = log.store->kda_layout();
  const size_t offset = head * layout.width * layout.taps;
  const KdaTaps own{taps.k + offset, taps.v + offset};
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

uint64_t FoldState(const SequenceState& version, const ops::Kernels& kernels,
                   std::span<const KdaTaps> taps) {
  const StateStore& store = *version.log->store;
  const KdaLayout& layout = store.kda_layout();
  std::vector<float> head(layout.head_floats());
  std::vector<float> scratch(3 * layout.width);
  Sum sum;
  const uint64_t position = version.position();
  sum.Add(&position, sizeof(position));
  for (size_t layer = 0; layer < store.kda_layers(); ++layer) {
    for (size_t h = 0; h < layout.heads; ++h) {
      FoldHead(version, layer, h, kernels, taps[layer], head.data(), scratch.data());
      sum.Add(head.data(), head.size() * sizeof(float));
    }
  }
  for (size_t layer = 0; layer < store.mla_layers(); ++layer) {
    size_t left = version.position();
    for (const auto& page : store.PagesOf(version, layer)) {
      const size_t rows = std::min(left, ops::kPagePositions);
      sum.Add(page->rows(), rows * store.page_width() * sizeof(float));
      left -= rows;
    }
    PENSTOCK_CHECK(left == 0);
  }
  return sum.value();
}

}  // namespace penstock::k3
