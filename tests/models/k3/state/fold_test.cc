// Random trees of versions against full copies: whatever is continued, branched, dropped, or given
// up half way, every version that is held stays what it is.
#include "models/k3/state/fold.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/attention.h"
#include "tests/models/k3/state/small_state.h"

namespace penstock::k3 {
namespace {

constexpr size_t kContext = 200;
constexpr size_t kMost = 5;

// All that a version remembers, on its own.
struct FullCopy {
  std::vector<std::vector<float>> heads;  // [kda layers * heads]
  std::vector<std::vector<float>> rows;   // [mla layers]
};

struct Held {
  std::shared_ptr<const SequenceState> version;
  FullCopy copy;
};

class Tree {
 public:
  explicit Tree(unsigned seed)
      : random_(seed), store_(*StateStore::Create(SmallShape(), kContext, kMost)) {
    bases_ = store_->free_bases();
    entries_ = store_->free_entries();
    pages_ = store_->free_pages();
    AddEmpty();
  }

  void AddEmpty() {
    FullCopy copy;
    copy.heads.assign(store_->kda_layers() * heads(),
                      std::vector<float>(store_->kda_layout().head_floats()));
    copy.rows.resize(store_->mla_layers());
    held_.push_back({store_->Empty(), std::move(copy)});
  }

  // From any version that is held; given up somewhere, or for want of memory, with false.
  bool Step() {
    const size_t from = random_() % held_.size();
    const std::shared_ptr<const SequenceState> before = held_[from].version;
    const size_t most = std::min(kMost, kContext - before->position());
    if (most == 0) return false;
    const size_t count = 1 + random_() % most;
    std::vector<FullCopy> copies(count, held_[from].copy);
    const bool folded = random_() % 4 == 0;
    const auto log = store_->Begin(*before, count, folded);
    const size_t work = 3 * heads();
    size_t left = random_() % 4 == 0 ? random_() % work : work;
    if (!Kda(*before, *log, 0, copies, left) || !Mla(*log, copies)) return false;
    if (!Kda(*before, *log, 1, copies, left)) return false;
    auto versions = StateStore::Versions(log);
    if (folded) copies.erase(copies.begin(), copies.end() - 1);
    EXPECT_EQ(versions.size(), copies.size());
    for (size_t t = 0; t < copies.size(); ++t) {
      held_.push_back({versions[t], std::move(copies[t])});
    }
    return true;
  }

  void DropOne() {
    if (held_.empty()) return;
    held_.erase(held_.begin() + static_cast<long>(random_() % held_.size()));
  }
  void DropAll() { held_.clear(); }
  size_t held() const { return held_.size(); }

  void Check() const {
    for (const Held& held : held_) ASSERT_TRUE(IsAsItWas(held));
  }
  void CheckNothingIsTaken() const {
    EXPECT_EQ(store_->free_bases(), bases_);
    EXPECT_EQ(store_->free_entries(), entries_);
    EXPECT_EQ(store_->free_pages(), pages_);
  }

 private:
  size_t heads() const { return store_->kda_layout().heads; }
  float Draw() { return std::uniform_real_distribution<float>(-1, 1)(random_); }

  // One KDA layer of a step: its heads in any order, `left` of them before it is given up.
  bool Kda(const SequenceState& before, StepLog& log, size_t layer, std::vector<FullCopy>& copies,
           size_t& left) {
    const auto visit = store_->BeginKda(before, log, layer);
    if (!visit) return false;
    std::vector<size_t> order(heads());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    for (const size_t head : order) {
      if (left == 0) return false;
      --left;
      Head(before, *visit, log, layer, head, copies);
    }
    if (left == 0) return false;
    store_->EndKda(before, log, layer, *visit);
    return true;
  }

  void Head(const SequenceState& before, const KdaVisit& visit, StepLog& log, size_t layer,
            size_t head, std::vector<FullCopy>& copies) {
    const KdaLayout& layout = store_->kda_layout();
    std::vector<float> scratch(3 * layout.width);
    const float* const state =
        AdvanceBase(before, visit, layer, head, kernels_, taps_.first_head(), scratch.data());
    std::vector<float> now = copies[0].heads[layer * heads() + head];
    if (state == nullptr) {
      EXPECT_EQ(before.position(), 0u);
    } else {
      EXPECT_EQ(std::memcmp(state, now.data(), now.size() * sizeof(float)), 0);
    }
    const size_t at = layout.taps_at(head);
    const KdaTaps own{taps_.k.data() + at, taps_.v.data() + at};
    std::vector<float> memory(layout.entry_floats());
    for (size_t t = 0; t < copies.size(); ++t) {
      const KdaEntry entry(
          layout, log.folded ? memory.data() : reinterpret_cast<float*>(log.entry(layer, t).data()),
          head);
      for (float* part : {entry.q, entry.k, entry.v, entry.alpha}) {
        for (size_t i = 0; i < layout.width; ++i) part[i] = Draw();
      }
      *entry.beta = Draw();
      AdvanceHead(kernels_, layout, own, entry, now.data(), scratch.data());
      copies[t].heads[layer * heads() + head] = now;
    }
    if (!log.folded) return;
    std::copy(now.begin(), now.end(), visit.base->head(layout, head));
    visit.base->positions[head] += copies.size();
  }

  bool Mla(StepLog& log, std::vector<FullCopy>& copies) {
    if (!store_->AppendRows(log, 0)) return false;
    std::vector<float> rows;
    for (size_t t = 0; t < copies.size(); ++t) {
      float* const row = store_->Row(log, 0, log.first + t);
      for (size_t i = 0; i < store_->page_width(); ++i) rows.push_back(row[i] = Draw());
      copies[t].rows[0].insert(copies[t].rows[0].end(), rows.begin(), rows.end());
    }
    return true;
  }

  testing::AssertionResult IsAsItWas(const Held& held) const {
    const SequenceState& version = *held.version;
    const KdaLayout& layout = store_->kda_layout();
    std::vector<float> state(layout.head_floats());
    std::vector<float> scratch(3 * layout.width);
    for (size_t i = 0; i < held.copy.heads.size(); ++i) {
      FoldHead(version, i / heads(), i % heads(), kernels_, taps_.first_head(), state.data(),
               scratch.data());
      if (state != held.copy.heads[i]) {
        return testing::AssertionFailure() << "position " << version.position() << ", head " << i;
      }
    }
    const auto pages = store_->PagesOf(version, 0);
    for (size_t i = 0; i < version.position(); ++i) {
      const size_t width = store_->page_width();
      const float* const row =
          pages[i / ops::kPagePositions]->rows() + i % ops::kPagePositions * width;
      if (!std::equal(row, row + width, held.copy.rows[0].data() + i * width)) {
        return testing::AssertionFailure() << "position " << version.position() << ", row " << i;
      }
    }
    return testing::AssertionSuccess();
  }

  std::mt19937 random_;
  const SmallTaps taps_;
  const ops::Kernels& kernels_ = ops::ScalarKernels();
  std::shared_ptr<StateStore> store_;
  size_t bases_ = 0, entries_ = 0, pages_ = 0;
  std::vector<Held> held_;
};

TEST(Fold, VersionsThatAreHeldStayAsTheyAreInAnyTree) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  size_t steps = 0;
  for (int run = 0; run < 40; ++run) {
    Tree tree(random());
    // Few versions, as when drafts are verified, or as many as there is memory for.
    const size_t most = 1 + random() % 8;
    for (int action = 0; action < 80; ++action) {
      if (tree.held() == 0) tree.AddEmpty();
      const bool done = tree.Step();
      steps += done;
      ASSERT_NO_FATAL_FAILURE(tree.Check()) << "run " << run << ", action " << action;
      if (!done) tree.DropOne();
      while (tree.held() > most) tree.DropOne();
      ASSERT_NO_FATAL_FAILURE(tree.Check()) << "run " << run << ", action " << action;
    }
    tree.DropAll();
    tree.CheckNothingIsTaken();
  }
  EXPECT_GT(steps, 40u * 20) << "most steps find memory";
}

// Two ways to the same tokens hash alike; each part counts.
TEST(Fold, TheHashTellsWhatAVersionIsAndNotHowItIsHeld) {
  const SmallTaps taps;
  const std::vector<KdaTaps> all(2, taps.first_head());
  const ops::Kernels& kernels = ops::ScalarKernels();
  auto store = *StateStore::Create(SmallShape(), 16, 2);
  // `odd`: what differs, 0 for nothing.
  const auto write = [&](std::shared_ptr<const SequenceState> version, size_t count, int odd) {
    const auto log = store->Begin(*version, count);
    for (size_t layer = 0; layer < 2; ++layer) {
      const auto visit = store->BeginKda(*version, *log, layer);
      EXPECT_TRUE(visit.has_value());
      for (size_t head = 0; head < 2; ++head) {
        std::vector<float> scratch(12);
        AdvanceBase(*version, *visit, layer, head, kernels, taps.first_head(), scratch.data());
        for (size_t t = 0; t < count; ++t) {
          auto* const values = reinterpret_cast<float*>(log->entry(layer, t).data());
          const size_t floats = store->kda_layout().entry_floats();
          std::fill_n(values, floats, 0.5f + 0.125f * static_cast<float>(log->first + t));
          if (odd == 1 && layer == 1) *KdaEntry(store->kda_layout(), values, 1).beta = 0.75f;
          if (odd == 2 && layer == 0) KdaEntry(store->kda_layout(), values, 0).q[3] = 0.75f;
        }
      }
      store->EndKda(*version, *log, layer, *visit);
    }
    EXPECT_TRUE(store->AppendRows(*log, 0).has_value());
    for (size_t t = 0; t < count; ++t) {
      std::fill_n(store->Row(*log, 0, log->first + t), store->page_width(), odd == 3 ? 2.0f : 1.0f);
    }
    return StateStore::Versions(log).back();
  };
  const auto fold = [&](size_t first, size_t second, int odd) {
    auto version = write(store->Empty(), first, second == 0 ? odd : 0);
    if (second != 0) version = write(std::move(version), second, odd);
    return FoldState(*version, kernels, all);
  };
  const uint64_t want = fold(1, 1, 0);
  EXPECT_EQ(fold(2, 0, 0), want);
  for (int odd = 1; odd <= 3; ++odd) EXPECT_NE(fold(1, 1, odd), want) << odd;
  EXPECT_NE(fold(1, 0, 0), want);
}

}  // namespace
}  // namespace penstock::k3
