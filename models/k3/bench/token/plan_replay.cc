#include "models/k3/bench/token/plan_replay.h"

#include <algorithm>
#include <utility>

#include "models/k3/experts/expert_reads.h"
#include "models/k3/experts/experts.h"
#include "runtime/size.h"

namespace penstock::k3 {

Result<std::unique_ptr<PlanReplay>> PlanReplay::Create(const Pass& pass, const Catalogue& catalogue,
                                                       const Shape& shape, io::Reader& reader,
                                                       const ReplayPlan& plan) {
  PENSTOCK_TRY(HugeRegion ring, HugeRegion::Map(RoundUp(plan.ring_bytes, reader.Alignment())));
  ring.Touch();
  HugeRegion experts;
  if (plan.experts_per_layer != 0) {
    PENSTOCK_TRY(experts,
                 HugeRegion::Map(plan.experts_per_layer * Experts::SlotBytes(
                                                              catalogue, shape,
                                                              [&](const io::Extent& read) {
                                                                return reader.BufferBytes(read);
                                                              },
                                                              reader.Alignment())));
    experts.Touch();
  }
  return std::unique_ptr<PlanReplay>(
      new PlanReplay(pass, catalogue, shape, reader, plan, std::move(ring), std::move(experts)));
}

PlanReplay::PlanReplay(const Pass& pass, const Catalogue& catalogue, const Shape& shape,
                       io::Reader& reader, const ReplayPlan& plan, HugeRegion ring,
                       HugeRegion experts)
    : pass_(pass),
      catalogue_(catalogue),
      shape_(shape),
      reader_(reader),
      plan_(plan),
      ring_memory_(std::move(ring)),
      expert_memory_(std::move(experts)),
      ring_(ring_memory_.data(), ring_memory_.size(), reader.Alignment()),
      held_(pass.extents().size()),
      here_(pass.extents().size()),
      pinned_(pass.extents().size()),
      waits_(pass.extents().size()) {
  MeasurePass();
}

PlanReplay::~PlanReplay() {
  Settle();
  for (BufferRef& held : held_) held.reset();
}

void PlanReplay::MeasurePass() {
  for (const uint32_t extent : plan_.pinned) pinned_[extent] = true;
  for (uint32_t i = 0; i < pass_.extents().size(); ++i) {
    if (!pinned_[i]) step_bytes_ += pass_.extents()[i].extent.bytes;
  }
  for (size_t layer = 0; layer < shape_.layers; ++layer) {
    const uint32_t up = pass_.Find(layer, Role::kLatentUp);
    if (up == kNone) continue;
    const Product& product = pass_.products()[up];
    for (uint32_t i = 0; i < product.extents; ++i) waits_[product.first_extent + i] = true;
    const auto reads = ReadsOf(catalogue_.expert(layer, 0));
    for (const io::Extent& read : reads) step_bytes_ += plan_.experts_per_layer * read.bytes;
  }
}

void PlanReplay::Settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return in_flight_ == 0; });
}

void PlanReplay::Cancel() {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = Cancelled("the replay was stopped");
  changed_.notify_one();
}

// As far as the ring goes, at most one pass ahead of what has been used.
void PlanReplay::ReadAhead(std::unique_lock<std::mutex>& lock) {
  const size_t extents = pass_.extents().size();
  while (!error_ && admitted_ - used_ < extents) {
    const auto extent = static_cast<uint32_t>(admitted_ % extents);
    if (!pinned_[extent]) {
      const io::Extent& bytes = pass_.extents()[extent].extent;
      auto place = ring_.Allocate(reader_.BufferBytes(bytes));
      if (!place) return;
      ++in_flight_;
      lock.unlock();
      reader_.Read(
          bytes, std::move(*place), io::ReadClass::kTrunk,
          [this, extent](Result<BufferRef> result) { Arrived(extent, std::move(result)); });
      lock.lock();
    }
    ++admitted_;
  }
}

void PlanReplay::Arrived(uint32_t extent, Result<BufferRef> bytes) {
  const std::lock_guard lock(mutex_);
  --in_flight_;
  if (bytes) {
    held_[extent] = std::move(bytes).value();
    here_[extent] = true;
  } else if (!error_) {
    error_ = std::move(bytes).error();
  }
  changed_.notify_one();
}

void PlanReplay::ExpertArrived(const Result<BufferRef>& bytes) {
  const std::lock_guard lock(mutex_);
  --in_flight_;
  --experts_left_;
  if (!bytes && !error_) error_ = bytes.error();
  changed_.notify_one();
}

bool PlanReplay::Use() {
  const auto extent = static_cast<uint32_t>(used_ % pass_.extents().size());
  const bool here = pinned_[extent] || here_[extent];
  if (!here || (waits_[extent] && experts_left_ != 0)) return false;
  here_[extent] = false;
  held_[extent].reset();
  ++used_;
  const Product& product = pass_.ProductOf(pass_.extents()[extent]);
  const bool last = extent + 1 == product.first_extent + product.extents;
  if (product.role == Role::kRouter && last) demand_ = product.layer;
  return true;
}

void PlanReplay::DemandExperts(size_t layer, std::unique_lock<std::mutex>& lock) {
  std::vector<io::Extent> reads;
  for (uint64_t i = 0; i < plan_.experts_per_layer; ++i) {
    // A step through all of them that meets each before any comes again.
    const size_t expert =
        (drawn_ + i * (shape_.experts / plan_.experts_per_layer)) % shape_.experts;
    for (const io::Extent& read : ReadsOf(catalogue_.expert(layer, expert))) {
      reads.push_back(read);
    }
  }
  ++drawn_;
  experts_left_ += reads.size();
  in_flight_ += reads.size();
  lock.unlock();
  std::byte* place = expert_memory_.data();
  for (const io::Extent& read : reads) {
    const size_t bytes = reader_.BufferBytes(read);
    reader_.Read(read, MutableBuffer(place, bytes, nullptr), io::ReadClass::kDemanded,
                 [this](const Result<BufferRef>& result) { ExpertArrived(result); });
    place += RoundUp(bytes, reader_.Alignment());
  }
  lock.lock();
}

Status PlanReplay::Run(size_t steps) {
  std::unique_lock lock(mutex_);
  const uint64_t end = used_ + steps * pass_.extents().size();
  ReadAhead(lock);
  while (used_ != end && !error_) {
    if (Use()) {
      if (demand_) DemandExperts(*std::exchange(demand_, std::nullopt), lock);
      ReadAhead(lock);
    } else {
      changed_.wait(lock);
    }
  }
  if (error_) return *error_;
  return {};
}

}  // namespace penstock::k3
