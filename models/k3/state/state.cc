#include "models/k3/state/state.h"

#include <algorithm>
#include <cstring>

#include "ops/attention.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kBlockAlignment = 4096;
constexpr size_t kVersions = 2;  // Sets of KDA blocks: the one read and the one written.

struct Sizes {
  size_t kda_block;
  size_t kda_count;
  size_t page;
  size_t page_count;
  size_t total() const { return kda_block * kda_count + page * page_count; }
};

KdaLayout LayoutOf(const Shape& shape) {
  return {shape.kda_heads, shape.kda_width, shape.conv_taps};
}

size_t KdaLayers(const Shape& shape) {
  return static_cast<size_t>(std::count(shape.kda.begin(), shape.kda.end(), true));
}

Sizes SizesOf(const Shape& shape, size_t context) {
  const size_t kda_layers = KdaLayers(shape);
  const size_t mla_layers = shape.layers - kda_layers;
  const size_t pages = (context + ops::kPagePositions - 1) / ops::kPagePositions;
  return {
      RoundUp(LayoutOf(shape).bytes(), kBlockAlignment),
      // One more: the block of zeros that stands for every layer before the first token.
      kda_layers * kVersions + 1,
      RoundUp(ops::kPagePositions * (shape.kv_rank + shape.rope) * sizeof(float), kBlockAlignment),
      // One more a layer: a version that branches copies the page it goes on from.
      mla_layers * (pages + 1)};
}

}  // namespace

size_t StateStore::Bytes(const Shape& shape, size_t context) {
  return SizesOf(shape, context).total();
}

Result<std::shared_ptr<StateStore>> StateStore::Create(const Shape& shape, size_t context) {
  const Sizes sizes = SizesOf(shape, context);
  std::shared_ptr<StateStore> store(new StateStore);
  store->kda_ = LayoutOf(shape);
  store->page_width_ = shape.kv_rank + shape.rope;
  store->kda_layers_ = KdaLayers(shape);
  store->mla_layers_ = shape.layers - store->kda_layers_;
  PENSTOCK_TRY(store->memory_, HugeRegion::Map(sizes.total()));
  store->memory_.Touch();
  std::byte* const base = store->memory_.data();
  store->kda_pool_ = std::make_unique<BlockPool>(base, sizes.kda_block, sizes.kda_count);
  store->page_pool_ = std::make_unique<BlockPool>(base + sizes.kda_block * sizes.kda_count,
                                                  sizes.page, sizes.page_count);
  PENSTOCK_TRY(MutableBuffer zeros, store->NewKdaBlock());
  std::memset(zeros.data(), 0, zeros.size());
  store->zeros_ = std::move(zeros).Freeze();
  return store;
}

std::shared_ptr<const SequenceState> StateStore::Empty() {
  auto empty = std::make_shared<SequenceState>(shared_from_this());
  empty->kda.assign(kda_layers_, zeros_);
  empty->pages.resize(mla_layers_);
  return empty;
}

Result<MutableBuffer> StateStore::NewKdaBlock() {
  if (auto block = kda_pool_->Allocate()) return std::move(*block);
  return Failed("no memory for another version of the state: more than " +
                std::to_string(kVersions) + " versions of a sequence are held");
}

Result<std::shared_ptr<LatentPage>> StateStore::NewPage() {
  auto block = page_pool_->Allocate();
  if (!block) {
    return Failed(
        "no page left in the latent cache: more versions of a sequence are held than its "
        "context has room for");
  }
  std::memset(block->data(), 0, block->size());  // Masked rows must be finite.
  return std::make_shared<LatentPage>(std::move(*block));
}

Result<float*> StateStore::AppendRow(std::vector<std::shared_ptr<LatentPage>>& pages,
                                     size_t position) {
  const size_t row = position % ops::kPagePositions;
  if (row == 0) {
    PENSTOCK_TRY(auto page, NewPage());
    page->filled.store(1, std::memory_order_relaxed);
    pages.push_back(page);
    return pages.back()->rows();
  }
  size_t expected = row;
  if (!pages.back()->filled.compare_exchange_strong(expected, row + 1)) {
    PENSTOCK_TRY(auto copy, NewPage());
    std::memcpy(copy->rows(), pages.back()->rows(), row * page_width_ * sizeof(float));
    copy->filled.store(row + 1, std::memory_order_relaxed);
    pages.back() = copy;
  }
  return pages.back()->rows() + row * page_width_;
}

}  // namespace penstock::k3
