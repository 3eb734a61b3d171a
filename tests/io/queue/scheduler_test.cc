#include "io/queue/scheduler.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

constexpr uint64_t kBlockBytes = 4 << 20;
constexpr auto kDemanded = ReadClass::kDemanded;
constexpr auto kTrunk = ReadClass::kTrunk;
constexpr auto kPredicted = ReadClass::kPredicted;

std::vector<uint64_t> Drain(Scheduler* scheduler) {
  std::vector<uint64_t> ids;
  while (const auto ticket = scheduler->Next()) ids.push_back(ticket->id);
  return ids;
}

using Ids = std::vector<uint64_t>;

TEST(Scheduler, TheWindowBoundsTheClassesBelowDemanded) {
  Scheduler scheduler(3 * kBlockBytes, 1);
  for (uint64_t id = 0; id < 6; ++id) scheduler.Queue({id, 0, kBlockBytes}, kTrunk);
  EXPECT_EQ(Drain(&scheduler), (Ids{0, 1, 2}));
  scheduler.Complete(1);
  EXPECT_EQ(Drain(&scheduler), (Ids{3}));
  EXPECT_EQ(scheduler.waiting(), 2u);
  EXPECT_EQ(scheduler.submitted(), 3u);
}

TEST(Scheduler, TwoReadsAreAlwaysInFlight) {
  Scheduler scheduler(1, 1);
  for (uint64_t id = 0; id < 4; ++id) scheduler.Queue({id, 0, kBlockBytes}, kTrunk);
  EXPECT_EQ(Drain(&scheduler), (Ids{0, 1}));
  scheduler.Complete(0);
  EXPECT_EQ(Drain(&scheduler), (Ids{2}));
}

TEST(Scheduler, DemandedReadsGoAtOnceAndFirst) {
  Scheduler scheduler(2 * kBlockBytes, 1);
  scheduler.Queue({0, 0, kBlockBytes}, kPredicted);
  scheduler.Queue({1, 0, kBlockBytes}, kTrunk);
  scheduler.Queue({2, 0, kBlockBytes}, kTrunk);
  scheduler.Queue({3, 0, kBlockBytes}, kDemanded);
  EXPECT_EQ(Drain(&scheduler), (Ids{3, 1, 2}));
  for (uint64_t id = 4; id < 40; ++id) scheduler.Queue({id, 0, kBlockBytes}, kDemanded);
  EXPECT_EQ(Drain(&scheduler).size(), 36u);
  scheduler.Complete(3);  // A demanded read took nothing of the window: it gives nothing back.
  EXPECT_EQ(Drain(&scheduler), Ids{});
  scheduler.Complete(1);
  EXPECT_EQ(Drain(&scheduler), (Ids{0}));
}

TEST(Scheduler, RaiseMovesAWaitingReadBehindItsNewClass) {
  Scheduler scheduler(1, 1);
  for (uint64_t id = 0; id < 6; ++id) scheduler.Queue({id, 0, kBlockBytes}, kPredicted);
  EXPECT_EQ(Drain(&scheduler), (Ids{0, 1}));
  EXPECT_FALSE(scheduler.Raise(0, kDemanded));  // Already submitted.
  EXPECT_TRUE(scheduler.Raise(5, kTrunk));
  EXPECT_TRUE(scheduler.Raise(3, kTrunk));
  EXPECT_FALSE(scheduler.Raise(3, kPredicted));  // Never down.
  EXPECT_FALSE(scheduler.Raise(3, kTrunk));
  EXPECT_TRUE(scheduler.Raise(4, kDemanded));
  EXPECT_EQ(Drain(&scheduler), (Ids{4}));
  for (uint64_t id : Ids{0, 1}) scheduler.Complete(id);
  EXPECT_EQ(Drain(&scheduler), (Ids{5, 3}));
}

TEST(Scheduler, CancelTakesOutWhatWaits) {
  Scheduler scheduler(1, 1);
  for (uint64_t id = 0; id < 4; ++id) scheduler.Queue({id, 0, kBlockBytes}, kPredicted);
  Drain(&scheduler);
  EXPECT_FALSE(scheduler.Cancel(0));
  EXPECT_TRUE(scheduler.Cancel(2));
  EXPECT_FALSE(scheduler.Cancel(2));
  scheduler.Complete(0);
  EXPECT_EQ(Drain(&scheduler), (Ids{3}));
}

TEST(Scheduler, DevicesHaveWindowsOfTheirOwn) {
  Scheduler scheduler(2 * kBlockBytes, 2);
  for (uint64_t id = 0; id < 8; ++id) {
    scheduler.Queue({id, static_cast<uint32_t>(id % 2), kBlockBytes}, kTrunk);
  }
  Ids ids = Drain(&scheduler);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, (Ids{0, 1, 2, 3}));
  scheduler.Complete(1);
  EXPECT_EQ(Drain(&scheduler), (Ids{5}));
}

TEST(Scheduler, ALargeHeadIsNotOvertakenByASmallOneBehindIt) {
  Scheduler scheduler(4 * kBlockBytes, 1);
  scheduler.Queue({0, 0, kBlockBytes}, kTrunk);
  scheduler.Queue({1, 0, kBlockBytes}, kTrunk);
  scheduler.Queue({2, 0, 3 * kBlockBytes}, kTrunk);
  scheduler.Queue({3, 0, kBlockBytes}, kTrunk);
  EXPECT_EQ(Drain(&scheduler), (Ids{0, 1}));
  scheduler.Complete(0);
  EXPECT_EQ(Drain(&scheduler), (Ids{2}));
}

// The rules of the header, said once more as a slow model: what should leave next is searched for.
class Model {
 public:
  struct Entry {
    Ticket ticket;
    ReadClass read_class;
    uint64_t arrival;
    bool in_window = false;
  };

  explicit Model(uint64_t window) : window_(window) {}

  bool MayLeave(const Entry& entry) const {
    for (const auto& [id, other] : waiting_) {
      if (other.ticket.device != entry.ticket.device) continue;
      if (other.read_class < entry.read_class) return false;
      if (other.read_class == entry.read_class && other.arrival < entry.arrival) return false;
    }
    return Fits(entry);
  }
  bool Fits(const Entry& entry) const {
    uint64_t reads = 0, bytes = entry.ticket.bytes;
    for (const auto& [id, other] : submitted_) {
      if (!other.in_window || other.ticket.device != entry.ticket.device) continue;
      ++reads;
      bytes += other.ticket.bytes;
    }
    return entry.read_class == kDemanded || reads < 2 || bytes <= window_;
  }
  bool AnyMayLeave() const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const auto& item) { return MayLeave(item.second); });
  }

  const uint64_t window_;
  std::map<uint64_t, Entry> waiting_, submitted_;
};

// Drives a Scheduler and the model with the same random actions.
class RandomPlay {
 public:
  explicit RandomPlay(std::mt19937_64* random)
      : random_(*random),
        devices_(1 + static_cast<uint32_t>(random_() % 3)),
        model_(1 + random_() % (16 * kBlockBytes)),
        scheduler_(model_.window_, devices_) {}

  void Act() {
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        return Queue();
      case 3:
      case 4:
        return Complete();
      case 5:
        return Raise();
      case 6:
        return Cancel();
      default:
        return Drain();
    }
  }

  void CheckCounts() const {
    ASSERT_EQ(scheduler_.waiting(), model_.waiting_.size());
    ASSERT_EQ(scheduler_.submitted(), model_.submitted_.size());
  }

  void Finish() {
    while (scheduler_.waiting() > 0 || scheduler_.submitted() > 0) {
      ASSERT_NO_FATAL_FAILURE(Drain());
      ASSERT_FALSE(model_.submitted_.empty());
      Complete();
    }
    EXPECT_EQ(left_.size(), expected_to_leave_);
  }

 private:
  template <class Map>
  auto Any(Map& map) {
    return std::next(map.begin(), static_cast<int64_t>(random_() % map.size()));
  }

  void Queue() {
    const Ticket ticket{next_id_++, static_cast<uint32_t>(random_() % devices_),
                        random_() % (3 * kBlockBytes)};
    const auto read_class = static_cast<ReadClass>(random_() % 3);
    scheduler_.Queue(ticket, read_class);
    model_.waiting_[ticket.id] = {ticket, read_class, arrival_++};
    ++expected_to_leave_;
  }

  void Complete() {
    if (model_.submitted_.empty()) return;
    const auto victim = Any(model_.submitted_);
    scheduler_.Complete(victim->first);
    model_.submitted_.erase(victim);
  }

  void Raise() {
    if (model_.waiting_.empty()) return;
    auto& [id, entry] = *Any(model_.waiting_);
    const auto read_class = static_cast<ReadClass>(random_() % 3);
    const bool up = read_class < entry.read_class;
    ASSERT_EQ(scheduler_.Raise(id, read_class), up);
    if (!up) return;
    entry.read_class = read_class;
    entry.arrival = arrival_++;
  }

  void Cancel() {
    if (model_.waiting_.empty()) return;
    const auto victim = Any(model_.waiting_);
    ASSERT_TRUE(scheduler_.Cancel(victim->first));
    model_.waiting_.erase(victim);
    --expected_to_leave_;
  }

  void Drain() {
    while (const auto ticket = scheduler_.Next()) {
      const auto found = model_.waiting_.find(ticket->id);
      ASSERT_NE(found, model_.waiting_.end());
      ASSERT_TRUE(model_.MayLeave(found->second));
      ASSERT_TRUE(left_.insert(ticket->id).second);
      found->second.in_window = found->second.read_class != kDemanded;
      model_.submitted_.insert(*found);
      model_.waiting_.erase(found);
    }
    ASSERT_FALSE(model_.AnyMayLeave());  // Nothing waits that could run.
  }

  std::mt19937_64& random_;
  const uint32_t devices_;
  Model model_;
  Scheduler scheduler_;
  std::set<uint64_t> left_;
  uint64_t next_id_ = 0, arrival_ = 0, expected_to_leave_ = 0;
};

TEST(Scheduler, KeepsItsRulesUnderRandomUse) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; ++round) {
    RandomPlay play(&random);
    for (int action = 0; action < 400; ++action) {
      ASSERT_NO_FATAL_FAILURE(play.Act());
      ASSERT_NO_FATAL_FAILURE(play.CheckCounts());
    }
    ASSERT_NO_FATAL_FAILURE(play.Finish());
  }
}

}  // namespace
}  // namespace penstock::io
