#include "models/k3/state/state.h"

#include <algorithm>
#include <cstring>

#include "ops/attention.h"
#include "ops/cache_line.h"
#include "runtime/check.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kBlockAlignment = 4096;
constexpr size_t kBranches = 2;    // Of which the bases can be kept.
constexpr size_t kSparePages = 2;  // For each layer: a branch copies the page it goes on from.

struct Sizes {
  size_t base;
  size_t base_count;
  size_t entry;
  size_t entry_count;
  size_t page;
  size_t page_count;
  size_t bases() const { return base * base_count; }
  size_t entries() const { return RoundUp(entry * entry_count, kBlockAlignment); }
  size_t total() const { return bases() + entries() + page * page_count; }
};

KdaLayout LayoutOf(const Shape& shape) {
  return {shape.kda_heads, shape.kda_width, shape.conv_taps};
}

size_t KdaLayers(const Shape& shape) {
  return static_cast<size_t>(std::count(shape.kda.begin(), shape.kda.end(), true));
}

size_t PagesFor(size_t positions) {
  return (positions + ops::kPagePositions - 1) / ops::kPagePositions;
}

Sizes SizesOf(const Shape& shape, size_t context, size_t positions, size_t folded) {
  const size_t kda_layers = KdaLayers(shape);
  const size_t mla_layers = shape.layers - kda_layers;
  const KdaLayout layout = LayoutOf(shape);
  return {
      RoundUp(layout.bytes(), kBlockAlignment), kda_layers * kBranches,
      ops::PaddedToLine(layout.entry_floats()) * sizeof(float),
      // A layer lets go of the last step's entries when it has this step's; one position more in
      // each, for a version that waits while another is continued, and one to begin with then.
      kda_layers == 0 ? 0 : kda_layers * positions + std::max(kda_layers, positions) + 1,
      RoundUp(ops::kPagePositions * (shape.kv_rank + shape.rope) * sizeof(float), kBlockAlignment),
      mla_layers * (PagesFor(context) + kSparePages + PagesFor(std::max(positions, folded)) - 1)};
}

}  // namespace

bool KdaBase::IsAt(size_t position) const {
  return std::all_of(positions.begin(), positions.end(),
                     [position](size_t p) { return p == position; });
}

StepLog::StepLog(std::shared_ptr<StateStore> memory, size_t first_position, size_t count, bool fold)
    : store(std::move(memory)),
      first(first_position),
      positions(count),
      folded(fold),
      bases(store->kda_layers()),
      entries(fold ? 0 : store->kda_layers() * count),
      pages(store->mla_layers()),
      live(count + 1),
      kept(count) {}

SequenceState::SequenceState(std::shared_ptr<StepLog> step, size_t consumed)
    : log(std::move(step)), count(consumed) {
  log->store->Hold(*log, count);
}

SequenceState::~SequenceState() { log->store->Drop(*log, count); }

size_t StateStore::Bytes(const Shape& shape, size_t context, size_t positions, size_t folded) {
  return SizesOf(shape, context, positions, folded).total();
}

Result<std::shared_ptr<StateStore>> StateStore::Create(const Shape& shape, size_t context,
                                                       size_t positions, size_t folded) {
  const Sizes sizes = SizesOf(shape, context, positions, folded);
  std::shared_ptr<StateStore> store(new StateStore);
  store->kda_ = LayoutOf(shape);
  store->page_width_ = shape.kv_rank + shape.rope;
  store->kda_layers_ = KdaLayers(shape);
  store->mla_layers_ = shape.layers - store->kda_layers_;
  store->context_ = context;
  PENSTOCK_TRY(store->memory_, HugeRegion::Map(sizes.total()));
  store->memory_.Touch();
  std::byte* const base = store->memory_.data();
  store->base_pool_ = std::make_unique<BlockPool>(base, sizes.base, sizes.base_count);
  store->entry_pool_ =
      std::make_unique<BlockPool>(base + sizes.bases(), sizes.entry, sizes.entry_count);
  store->page_pool_ = std::make_unique<BlockPool>(base + sizes.bases() + sizes.entries(),
                                                  sizes.page, sizes.page_count);
  return store;
}

// --- versions ---

std::shared_ptr<const SequenceState> StateStore::Empty() {
  return std::make_shared<SequenceState>(std::make_shared<StepLog>(shared_from_this(), 0, 0, false),
                                         0);
}

Result<std::shared_ptr<const SequenceState>> StateStore::Restore(size_t position) {
  PENSTOCK_CHECK(position > 0);
  if (position > context_) {
    return Refused("expected a state of at most " + std::to_string(context_) +
                   " positions, the context, got one of " + std::to_string(position));
  }
  // A log without positions of its own, as that of the empty version.
  auto log = std::make_shared<StepLog>(shared_from_this(), position, 0, false);
  for (std::shared_ptr<KdaBase>& base : log->bases) {
    PENSTOCK_TRY(base, NewBase());
    base->positions.assign(kda_.heads, position);
  }
  for (auto& pages : log->pages) {
    for (size_t at = 0; at < position; at += ops::kPagePositions) {
      PENSTOCK_TRY(auto page, NewPage());
      page->filled = std::min(ops::kPagePositions, position - at);
      pages.push_back(std::move(page));
    }
  }
  return std::make_shared<const SequenceState>(std::move(log), 0);
}

std::shared_ptr<StepLog> StateStore::Begin(const SequenceState& before, size_t positions,
                                           bool folded) {
  auto log = std::make_shared<StepLog>(shared_from_this(), before.position(), positions, folded);
  for (size_t layer = 0; layer < mla_layers_; ++layer) log->pages[layer] = PagesOf(before, layer);
  return log;
}

std::vector<std::shared_ptr<const SequenceState>> StateStore::Versions(
    std::shared_ptr<StepLog> log) {
  std::vector<std::shared_ptr<const SequenceState>> versions;
  versions.reserve(log->positions);
  for (size_t count = log->folded ? log->positions : 1; count <= log->positions; ++count) {
    versions.push_back(std::make_shared<SequenceState>(log, count));
  }
  return versions;
}

void StateStore::Hold(StepLog& log, size_t count) {
  const std::lock_guard lock(mutex_);
  log.live[count] = true;
}

// What only versions behind the last one held would need goes back.
void StateStore::Drop(StepLog& log, size_t count) {
  const std::lock_guard lock(mutex_);
  log.live[count] = false;
  size_t last = log.positions;
  while (last > 0 && !log.live[last]) --last;
  if (last >= log.kept || log.folded || !log.live[last])
    return;  // Without any version, all of it goes now.
  for (size_t layer = 0; layer < kda_layers_; ++layer) {
    for (size_t t = last; t < log.kept; ++t) log.entry(layer, t) = MutableBuffer();
  }
  const size_t end = log.first + last;
  for (auto& list : log.pages) {
    const size_t index = end / ops::kPagePositions;
    // The rows of a page that nobody else has can be written again. They are zeros until then: a
    // wrong guess may have left what is not finite, which masked rows must be.
    if (index < list.size() && end % ops::kPagePositions != 0 && list[index].use_count() == 1) {
      LatentPage& page = *list[index];
      const size_t row = end % ops::kPagePositions;
      std::fill_n(page.rows() + row * page_width_, (page.filled - row) * page_width_, 0.0f);
      page.filled = row;
    }
    list.resize(std::min(list.size(), PagesFor(end)));
  }
  log.kept = last;
}

// --- KDA ---

Result<std::shared_ptr<KdaBase>> StateStore::NewBase() {
  auto block = base_pool_->Allocate();
  if (!block) {
    return Failed("no memory for another branch of a sequence: more than " +
                  std::to_string(kBranches) + " are held");
  }
  auto base = std::make_shared<KdaBase>();
  base->memory = std::move(*block);
  base->positions.assign(kda_.heads, 0);
  return base;
}

Result<KdaVisit> StateStore::BeginKda(const SequenceState& before, StepLog& log, size_t layer) {
  for (size_t t = 0; t < log.positions && !log.folded; ++t) {
    auto block = entry_pool_->Allocate();
    if (!block) {
      return Failed(
          "no memory for another version of the state: more versions of a sequence are held than "
          "there is room for");
    }
    log.entry(layer, t) = std::move(*block);
  }
  StepLog& previous = *before.log;
  const std::shared_ptr<KdaBase>& base = previous.bases[layer];
  KdaVisit visit;
  const std::lock_guard lock(mutex_);
  const auto first_held = std::find(previous.live.begin(), previous.live.end(), true);
  visit.outgrown = first_held - previous.live.begin() == static_cast<ptrdiff_t>(before.count);
  // Nothing is to be taken in, or nobody else needs what the base is without it.
  const bool in_place =
      !log.folded && (before.count == 0 || (base && base->IsAt(before.position())) ||
                      (visit.outgrown && base.use_count() == 1));
  if (in_place) {
    log.bases[layer] = base;
  } else {
    PENSTOCK_TRY(log.bases[layer], NewBase());
    visit.fresh = true;
    visit.source = base.get();
  }
  visit.base = log.bases[layer].get();
  return visit;
}

void StateStore::EndKda(const SequenceState& before, StepLog& log, size_t layer,
                        const KdaVisit& visit) {
  if (!visit.outgrown || log.folded) return;
  StepLog& previous = *before.log;
  const std::lock_guard lock(mutex_);
  // The versions that stay contain all that the base has taken in.
  previous.bases[layer] = log.bases[layer];
  if (previous.folded) return;
  for (size_t t = 0; t < before.count; ++t) previous.entry(layer, t) = MutableBuffer();
}

// --- MLA ---

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

Status StateStore::AppendRows(StepLog& log, size_t layer) {
  auto& pages = log.pages[layer];
  const size_t end = log.first + log.positions;
  const std::lock_guard lock(mutex_);
  for (size_t position = log.first; position < end;) {
    const size_t row = position % ops::kPagePositions;
    const size_t rows = std::min(ops::kPagePositions - row, end - position);
    if (row == 0) {
      PENSTOCK_TRY(auto page, NewPage());
      pages.push_back(std::move(page));
    } else if (pages.back()->filled != row) {
      PENSTOCK_TRY(auto copy, NewPage());
      std::memcpy(copy->rows(), pages.back()->rows(), row * page_width_ * sizeof(float));
      pages.back() = std::move(copy);
    }
    pages.back()->filled = row + rows;
    position += rows;
  }
  return {};
}

float* StateStore::Row(const StepLog& log, size_t layer, size_t position) const {
  return log.pages[layer][position / ops::kPagePositions]->rows() +
         position % ops::kPagePositions * page_width_;
}

std::vector<std::shared_ptr<LatentPage>> StateStore::PagesOf(const SequenceState& version,
                                                             size_t layer) const {
  const std::lock_guard lock(mutex_);
  const auto& pages = version.log->pages[layer];
  return {pages.begin(), pages.begin() + static_cast<ptrdiff_t>(PagesFor(version.position()))};
}

}  // namespace penstock::k3
