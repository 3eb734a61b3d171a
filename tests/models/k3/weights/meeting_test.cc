#include "models/k3/weights/meeting.h"

#include <random>
#include <semaphore>
#include <set>

#include <gtest/gtest.h>

#include "runtime/memory/region.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

// Whatever comes first, the rows of every extent are sent exactly once, and their bytes go back to
// the ring with the last block.
TEST(Meeting, EveryRowIsSentOnceInAnyOrderOfArrival) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  TinyModel tiny;
  HugeRegion memory = *HugeRegion::Map(64 << 20);
  ByteRing ring(memory.data(), memory.size(), 4096);
  WeightStream stream(*tiny.pass, tiny.shape().layers, *tiny.reader, ring, 0);
  std::vector<uint32_t> events;  // Extents, then products behind them.
  const auto extents = static_cast<uint32_t>(tiny.pass->extents().size());
  stream.Admit([&](uint32_t extent) {
    std::binary_semaphore done{0};
    stream.Read(extent, [&] { done.release(); });
    done.acquire();
    events.push_back(extent);
  });
  for (uint32_t i = 0; i < tiny.pass->products().size(); ++i) events.push_back(extents + i);
  std::shuffle(events.begin(), events.end(), random);

  Meeting meeting(*tiny.pass, stream, 4096);
  std::vector<Block> blocks;
  for (const uint32_t event : events) {
    if (event < extents) {
      ASSERT_TRUE(meeting.Arrived(event, blocks).has_value());
    } else {
      ASSERT_TRUE(meeting.InputReady(event - extents, blocks).has_value());
    }
  }
  std::set<std::pair<uint32_t, uint32_t>> rows;
  for (const Block& block : blocks) {
    const PassExtent& extent = tiny.pass->extents()[block.extent];
    const Product& product = tiny.pass->ProductOf(extent);
    EXPECT_EQ(block.weights.size(), size_t{block.rows} * product.matrix.cols * 2);
    EXPECT_GE(block.first_row, extent.first_row);
    EXPECT_LE(block.first_row + block.rows, extent.first_row + extent.rows);
    EXPECT_EQ((block.first_row - extent.first_row) % product.row_unit, 0u);
    for (uint32_t row = 0; row < block.rows; ++row) {
      EXPECT_TRUE(rows.insert({extent.product, block.first_row + row}).second);
    }
  }
  size_t all_rows = 0;
  for (const Product& product : tiny.pass->products()) all_rows += product.matrix.rows;
  EXPECT_EQ(rows.size(), all_rows);
  EXPECT_GT(ring.used(), 0u);
  blocks.clear();
  EXPECT_EQ(ring.used(), 0u);
}

// A meeting to which no trunk comes.
struct MeetingOfExperts {
  TinyModel tiny;
  std::vector<std::byte> memory = std::vector<std::byte>(4096);
  ByteRing ring{memory.data(), memory.size(), 4096};
  WeightStream stream{*tiny.pass, tiny.shape().layers, *tiny.reader, ring, 0};
  Meeting meeting{*tiny.pass, stream, 4096};
};

TEST(Meeting, ExpertsWaitForTheLatentOfTheirOwnLayer) {
  MeetingOfExperts fixture;
  Meeting& meeting = fixture.meeting;
  std::vector<ReadyExpert> ready;
  ReadyExpert expert;
  expert.visit = 7;
  expert.index = 2;
  meeting.Arrived(expert, ready);
  EXPECT_TRUE(ready.empty());
  meeting.LatentReady(7, ready);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].index, 2u);
  ready.clear();
  expert.index = 3;
  meeting.Arrived(expert, ready);
  EXPECT_EQ(ready.size(), 1u) << "the input is there already";
  ready.clear();
  expert.visit = 8;
  meeting.Arrived(expert, ready);
  EXPECT_TRUE(ready.empty()) << "the next layer's input is not";

  // A step that is tried again visits the same layer: what was ready in the first attempt is not.
  meeting.Reset();
  expert.visit = 7;
  meeting.Arrived(expert, ready);
  EXPECT_TRUE(ready.empty());
  meeting.LatentReady(7, ready);
  EXPECT_EQ(ready.size(), 1u) << "what waited before the reset is forgotten";
}

TEST(Meeting, ExpertsOfAStepThatFailedAreLetGo) {
  MeetingOfExperts fixture;
  Meeting& meeting = fixture.meeting;
  std::vector<ReadyExpert> ready;
  ReadyExpert expert;
  expert.weights.pin = std::make_shared<int>(0);
  const std::weak_ptr<void> slot = expert.weights.pin;
  meeting.Arrived(expert, ready);
  expert.weights.pin.reset();
  EXPECT_FALSE(slot.expired());
  meeting.DropExperts();
  EXPECT_TRUE(slot.expired());
}

}  // namespace
}  // namespace penstock::k3
