#include "models/k3/pack/stripe_flow.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "graph/graph.h"
#include "runtime/memory/region.h"

namespace penstock::k3 {
namespace {

struct Item {
  size_t stripe = 0;
  size_t slot = 0;
};

// The bytes of one stripe on its way, and what of them is still to come.
struct Slot {
  std::vector<HugeRegion> buffers;
  std::vector<BufferRef> bytes;
  std::atomic<size_t> outstanding{0};
  bool worked = false;
  std::mutex mutex;
  Status status;  // Of reading and working; the first failure stays.

  void Note(const Status& result) {
    if (result) return;
    const std::lock_guard lock(mutex);
    if (status) status = result;
  }
};

class StripeFlow {
 public:
  StripeFlow(StripeJob& job, size_t first, size_t end, io::Reader& reader,
             const StripeFlowOptions& options)
      : job_(job),
        end_(end),
        reader_(reader),
        options_(options),
        slots_(options.slots),
        next_(first),
        arena_(options.threads, {}),
        graph_(arena_),
        read_(graph_, "read", [this](const Item& item, auto reply) { Read(item, reply); }),
        work_(graph_, "work", 0, [this](const Item& item, auto& out) { Work(item, out); }),
        done_(graph_, "end", 1, [this](const Item& item, auto&) { End(item); }) {
    graph::Connect(read_, work_);
    graph::Connect(work_, done_);
  }
  ~StripeFlow() { graph_.WaitIdle(); }

  Status Allocate(size_t first) {
    for (size_t i = first; i < end_; ++i) {
      const std::vector<io::Extent> reads = job_.Reads(i);
      sizes_.resize(std::max(sizes_.size(), reads.size()));
      for (size_t r = 0; r < reads.size(); ++r) {
        sizes_[r] = std::max(sizes_[r], reader_.BufferBytes(reads[r]));
      }
    }
    for (Slot& slot : slots_) {
      slot.bytes.resize(sizes_.size());
      for (const size_t bytes : sizes_) {
        PENSTOCK_TRY(HugeRegion region, HugeRegion::Map(bytes));
        slot.buffers.push_back(std::move(region));
      }
    }
    return {};
  }

  Status Run(size_t first) {
    PENSTOCK_TRY_VOID(Allocate(first));
    graph_.outcome().Begin();
    for (size_t slot = 0; slot < slots_.size() && first + slot < end_; ++slot) {
      read_.Put({first + slot, slot});
    }
    Status status = graph_.outcome().Wait();
    graph_.WaitIdle();
    return status;
  }

 private:
  void Fail(const Error& error) { graph_.outcome().Fail(error); }

  void Read(const Item& item, graph::Reply<Item> reply) {
    Slot& slot = slots_[item.slot];
    const std::vector<io::Extent> reads = job_.Reads(item.stripe);
    slot.outstanding.store(reads.size());
    for (size_t r = 0; r < reads.size(); ++r) {
      MutableBuffer place(slot.buffers[r].data(), reader_.BufferBytes(reads[r]), nullptr);
      reader_.Read(reads[r], std::move(place), io::ReadClass::kTrunk,
                   [this, &slot, r, item, reply](Result<BufferRef> bytes) {
                     if (bytes) {
                       slot.bytes[r] = std::move(bytes).value();
                     } else {
                       slot.Note(bytes.error());
                     }
                     if (slot.outstanding.fetch_sub(1) == 1) reply(item);
                   });
    }
  }

  void Work(const Item& item, graph::Stage<Item, Item>::Outputs& out) {
    if (graph_.outcome().over()) return;
    Slot& slot = slots_[item.slot];
    if (slot.status) slot.Note(job_.Work(item.stripe, item.slot, slot.bytes));
    out.Put<0>(item);
  }

  // Stripes come in any order and are ended in theirs. A slot's stripes are one round of slots apart.
  void End(const Item& item) {
    slots_[item.slot].worked = true;
    for (;;) {
      const size_t number = (next_ - begin_) % slots_.size();
      if (next_ == end_ || !slots_[number].worked || graph_.outcome().over()) return;
      if (options_.stop && options_.stop()) return Fail(Cancelled("stopped by a signal"));
      const Status worked = std::exchange(slots_[number].status, Status());
      if (!worked) return Fail(worked.error());
      if (const Status ended = job_.End(next_, number); !ended) return Fail(ended.error());
      slots_[number].worked = false;
      if (next_ + slots_.size() < end_) read_.Put({next_ + slots_.size(), number});
      if (++next_ == end_) graph_.outcome().Finish();
    }
  }

  StripeJob& job_;
  const size_t end_;
  io::Reader& reader_;
  const StripeFlowOptions& options_;
  std::vector<Slot> slots_;
  std::vector<size_t> sizes_;  // Largest of each read of a stripe.
  size_t next_;                // To be ended.
  const size_t begin_ = next_;
  graph::Arena arena_;
  graph::Graph graph_;
  graph::AsyncStage<Item, Item> read_;
  graph::Stage<Item, Item> work_;
  graph::Stage<Item> done_;
};

}  // namespace

Status RunStripes(StripeJob& job, size_t first, size_t end, io::Reader& reader,
                  const StripeFlowOptions& options) {
  if (first == end) return {};
  return StripeFlow(job, first, end, reader, options).Run(first);
}

size_t SlotsFor(size_t threads, uint64_t bytes_each, uint64_t memory) {
  const size_t fit = memory / std::max<uint64_t>(bytes_each, 1);
  return std::clamp<size_t>(fit, 1, 2 * threads + 2);
}

}  // namespace penstock::k3
