// Experts that are read before they are demanded, read by read.
#include <cstring>
#include <fstream>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/experts/experts.h"
#include "tests/models/k3/experts/manual_reader.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

class ExpertsAhead : public testing::Test {
 protected:
  void Open(size_t slots, size_t ahead_slots) {
    memory_.resize(slots * kTinyExpertBytes);
    experts_ = std::make_unique<Experts>(*tiny_.catalogue, tiny_.shape(), reader_, memory_.data(),
                                         kTinyExpertBytes, slots, ahead_slots);
    experts_->OnRelease([this] { ++releases_; });
  }

  struct Got {
    std::optional<Result<ExpertWeights>> weights;
  };
  Got& Demand(size_t layer, size_t expert) {
    Got& got = got_.emplace_back();
    experts_->Demand(layer, expert,
                     [&got](Result<ExpertWeights> weights) { got.weights = std::move(weights); });
    return got;
  }

  // The bytes that a demand got are those of the checkpoint.
  void ExpectRight(const Got& got, size_t layer, size_t expert) {
    ASSERT_TRUE(got.weights.has_value());
    ASSERT_TRUE(got.weights->has_value()) << got.weights->error().message;
    const io::Extent& extent = tiny_.catalogue->expert(layer, expert).w2_packed;
    std::ifstream file(tiny_.catalogue->FileName(extent.file), std::ios::binary);
    std::vector<char> stored(extent.bytes);
    file.seekg(static_cast<std::streamoff>(extent.offset));
    file.read(stored.data(), static_cast<std::streamsize>(stored.size()));
    EXPECT_EQ(std::memcmp((*got.weights)->view.w2_packed, stored.data(), stored.size()), 0);
  }

  TinyModel tiny_;
  ManualReader reader_{*tiny_.catalogue};
  std::vector<std::byte> memory_;
  std::unique_ptr<Experts> experts_;
  int releases_ = 0;
  std::list<Got> got_;  // Before the cache goes, what it holds is dropped.
};

TEST_F(ExpertsAhead, OneThatHasComeIsNotReadAgain) {
  Open(3, 1);
  EXPECT_EQ(experts_->demand_slots(), 2u);
  ASSERT_TRUE(experts_->Predict(10, 2, 5));
  ASSERT_EQ(reader_.pending.size(), 1u);
  EXPECT_EQ(reader_.pending[0].read_class, io::ReadClass::kPredicted);
  EXPECT_EQ(experts_->pending_bytes(), kTinyExpertBytes);
  reader_.Complete(0);
  EXPECT_EQ(experts_->predicted(), 1u) << "it waits for its demand";
  const uint32_t chosen[] = {5};
  experts_->Settle(10, 2, chosen);
  EXPECT_EQ(experts_->predicted(), 1u);
  Got& got = Demand(2, 5);
  ExpectRight(got, 2, 5);
  EXPECT_TRUE(reader_.pending.empty());
  EXPECT_EQ(experts_->predicted(), 0u);
  EXPECT_EQ(experts_->pending_bytes(), 0u);
  EXPECT_EQ(experts_->hits(), 0u);
  EXPECT_EQ(experts_->misses(), 1u) << "the cache did not have it";
  EXPECT_EQ(experts_->ahead(2).useful_bytes, kTinyExpertBytes);
  EXPECT_EQ(experts_->traffic().payload, kTinyExpertBytes);
  EXPECT_EQ(releases_, 0);
  got.weights.reset();
  EXPECT_EQ(releases_, 1) << "one credit for one demand";
  EXPECT_EQ(experts_->held(), 0u);
}

TEST_F(ExpertsAhead, ADemandJoinsTheReadUnderWayAndRaisesIt) {
  Open(2, 1);
  ASSERT_TRUE(experts_->Predict(10, 2, 5));
  Got& got = Demand(2, 5);
  ASSERT_EQ(reader_.pending.size(), 1u) << "never read twice";
  EXPECT_EQ(reader_.pending[0].read_class, io::ReadClass::kDemanded);
  EXPECT_FALSE(got.weights.has_value());
  experts_->Settle(10, 2, {});  // Somebody waits: it is not dropped.
  reader_.Complete(0);
  ExpectRight(got, 2, 5);
  EXPECT_EQ(experts_->ahead(2).joined, 1u);
  EXPECT_EQ(experts_->ahead(2).useful, 1u);
  got.weights.reset();
  EXPECT_EQ(releases_, 1);
  EXPECT_EQ(experts_->held(), 0u);
}

TEST_F(ExpertsAhead, WhatWaitsAndIsNotWantedIsDropped) {
  Open(2, 1);
  ASSERT_TRUE(experts_->Predict(10, 2, 5));
  const uint32_t chosen[] = {6};
  experts_->Settle(10, 2, chosen);
  ASSERT_TRUE(reader_.pending[0].cancelled);
  reader_.Complete(0);
  EXPECT_EQ(experts_->held(), 0u);
  EXPECT_EQ(experts_->ahead(2).dropped, 1u);
  EXPECT_EQ(experts_->ahead(2).wasted_bytes, 0u);
  EXPECT_EQ(experts_->traffic().payload, 0u);
  EXPECT_EQ(experts_->pending_bytes(), 0u);
  EXPECT_EQ(releases_, 0);
}

TEST_F(ExpertsAhead, WhatIsUnderWayAndNotWantedIsWastedButStays) {
  Open(2, 1);
  ASSERT_TRUE(experts_->Predict(10, 2, 5));
  reader_.pending[0].started = true;
  experts_->Settle(10, 2, {});
  reader_.Complete(0);
  EXPECT_EQ(experts_->held(), 0u);
  EXPECT_EQ(experts_->ahead(2).wasted_bytes, kTinyExpertBytes);
  EXPECT_EQ(experts_->traffic().payload, kTinyExpertBytes);
  Got& got = Demand(2, 5);
  ExpectRight(got, 2, 5);
  EXPECT_EQ(experts_->hits(), 1u);
}

TEST_F(ExpertsAhead, OneThatHasComeLetsGoWhenItsLayerHasPassed) {
  Open(2, 1);
  ASSERT_TRUE(experts_->Predict(10, 2, 5));
  reader_.Complete(0);
  EXPECT_EQ(experts_->held(), 1u);
  experts_->Settle(11, 3, {});
  EXPECT_EQ(experts_->held(), 0u);
  EXPECT_EQ(experts_->ahead(2).wasted, 1u);
}

TEST_F(ExpertsAhead, AReadThatFailsIsNobodysErrorUntilItIsDemanded) {
  Open(2, 1);
  ASSERT_TRUE(experts_->Predict(10, 2, 5));
  reader_.Complete(0, false);
  EXPECT_EQ(experts_->held(), 0u);
  EXPECT_FALSE(experts_->IsHere(2, 5));
  // Joined before it fails: read anew, as a demand.
  ASSERT_TRUE(experts_->Predict(10, 2, 5));
  Got& retried = Demand(2, 5);
  reader_.Complete(0, false);
  EXPECT_FALSE(retried.weights.has_value());
  ASSERT_EQ(reader_.pending.size(), 1u);
  EXPECT_EQ(reader_.pending[0].read_class, io::ReadClass::kDemanded);
  reader_.Complete(0);
  ExpectRight(retried, 2, 5);
  retried.weights.reset();
  // And that one fails as a demand does.
  ASSERT_TRUE(experts_->Predict(10, 2, 6));
  Got& failed = Demand(2, 6);
  reader_.Complete(0, false);
  reader_.Complete(0, false);
  ASSERT_TRUE(failed.weights.has_value());
  ASSERT_FALSE(failed.weights->has_value());
  EXPECT_EQ(failed.weights->error().where, "layer 2, expert 6");
  EXPECT_EQ(releases_, 2);
  EXPECT_EQ(experts_->held(), 0u);
}

TEST_F(ExpertsAhead, OneTakenBackAndThenDemandedIsRead) {
  Open(2, 1);
  ASSERT_TRUE(experts_->Predict(10, 2, 5));
  experts_->Settle(10, 2, {});
  Got& got = Demand(2, 5);  // Before the reader has said that it was taken back.
  reader_.Complete(0);
  ASSERT_EQ(reader_.pending.size(), 1u);
  reader_.Complete(0);
  ExpectRight(got, 2, 5);
  EXPECT_EQ(experts_->traffic().payload, kTinyExpertBytes);
}

TEST_F(ExpertsAhead, PredictionsLeaveTheDemandsTheirSlots) {
  Open(3, 2);
  EXPECT_TRUE(experts_->Predict(10, 2, 5));
  EXPECT_FALSE(experts_->Predict(10, 2, 5)) << "it is on its way";
  EXPECT_TRUE(experts_->Predict(10, 2, 6));
  EXPECT_FALSE(experts_->Predict(10, 2, 7)) << "no slot is left for it";
  Got& got = Demand(2, 8);
  reader_.Complete(2);
  ExpectRight(got, 2, 8);
  EXPECT_FALSE(experts_->Predict(10, 2, 8)) << "it is here";
  reader_.Complete(0);
  reader_.Complete(0);
}

TEST_F(ExpertsAhead, APredictionThatComesTooLateIsRefused) {
  Open(3, 1);
  experts_->Settle(10, 2, {});
  EXPECT_FALSE(experts_->Predict(10, 2, 5));
  EXPECT_FALSE(experts_->Predict(9, 2, 5));
  ASSERT_TRUE(experts_->Predict(11, 3, 5));
  experts_->SettleAll(11);
  EXPECT_TRUE(reader_.pending[0].cancelled);
  reader_.Complete(0);
  EXPECT_EQ(experts_->held(), 0u);
}

TEST_F(ExpertsAhead, WithoutSlotsForThemNothingIsPredicted) {
  Open(2, 0);
  EXPECT_FALSE(experts_->Predict(10, 2, 5));
  EXPECT_EQ(experts_->demand_slots(), 2u);
}

// Layers and steps at random, with reads that end in any order, fail, or are never wanted: every demand
// gets its bytes, every slot comes home, and the accounts are those of the reader.
TEST_F(ExpertsAhead, RandomTrafficKeepsItsBooks) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Open(6, 3);
  int demands = 0;
  for (uint64_t visit = 1; visit < 400; ++visit) {
    const size_t layer = 1 + visit % 8;
    for (size_t i = random() % 4; i-- > 0;) experts_->Predict(visit, layer, random() % 8);
    const auto complete_some = [&] {
      for (size_t i = random() % 3; i-- > 0 && !reader_.pending.empty();) {
        const size_t which = random() % reader_.pending.size();
        const auto read_class = reader_.pending[which].read_class;
        reader_.Complete(which, read_class == io::ReadClass::kDemanded || random() % 4 != 0);
      }
    };
    complete_some();
    std::vector<uint32_t> chosen = {static_cast<uint32_t>(random() % 8)};
    chosen.push_back((chosen[0] + 1 + random() % 7) % 8);
    experts_->Settle(visit, layer, chosen);
    std::vector<std::pair<Got*, uint32_t>> wanted;
    for (const uint32_t expert : chosen) wanted.emplace_back(&Demand(layer, expert), expert);
    demands += 2;
    complete_some();
    for (const auto& [got, expert] : wanted) {
      while (!got->weights) reader_.Complete(random() % reader_.pending.size());
      ExpectRight(*got, layer, expert);
    }
    got_.clear();
  }
  experts_->SettleAll(400);
  while (!reader_.pending.empty()) reader_.Complete(0);
  const Ahead ahead = experts_->ahead();
  EXPECT_EQ(experts_->held(), 0u);
  EXPECT_EQ(experts_->predicted(), 0u);
  EXPECT_EQ(experts_->pending_bytes(), 0u);
  EXPECT_EQ(releases_, demands);
  EXPECT_EQ(ahead.issued, ahead.useful + ahead.wasted + ahead.dropped);
  EXPECT_GT(ahead.useful, 0u);
  EXPECT_GT(ahead.wasted, 0u);
  EXPECT_GT(ahead.dropped, 0u);
  EXPECT_EQ(experts_->traffic().payload, reader_.counted.payload_bytes);
  EXPECT_EQ(experts_->traffic().payload,
            experts_->misses() * kTinyExpertBytes + ahead.wasted_bytes);
}

}  // namespace
}  // namespace penstock::k3
