#include "models/k3/weights/stream.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <semaphore>

#include <gtest/gtest.h>

#include "runtime/memory/region.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

std::vector<char> StoredBytes(const TinyModel& tiny, const io::Extent& extent) {
  std::ifstream file(tiny.catalogue->FileName(extent.file), std::ios::binary);
  std::vector<char> bytes(extent.bytes);
  file.seekg(static_cast<std::streamoff>(extent.offset));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// A stream over a ring of its own; Pull admits and reads what fits, one extent at a time.
struct StreamFixture {
  StreamFixture(TinyModel& model, size_t ring_bytes, uint64_t depth)
      : memory(*HugeRegion::Map(ring_bytes)),
        ring(memory.data(), ring_bytes, 4096),
        stream(*model.pass, model.shape().layers, *model.reader, ring, depth) {}

  std::vector<uint32_t> Admit() {
    std::vector<uint32_t> admitted;
    stream.Admit([&](uint32_t extent) { admitted.push_back(extent); });
    return admitted;
  }
  Result<BufferRef> Read(uint32_t extent) {
    std::binary_semaphore done{0};
    stream.Read(extent, [&] { done.release(); });
    done.acquire();
    return stream.Take(extent);
  }

  HugeRegion memory;
  ByteRing ring;
  WeightStream stream;
};

TEST(WeightStream, ARingOfOneLargestExtentBringsEveryExtentInOrder) {
  TinyModel tiny;
  StreamFixture fixture(tiny, tiny.LargestExtent(), 0);
  fixture.stream.Allow(1);  // Two passes.
  const auto extents = static_cast<uint32_t>(tiny.pass->extents().size());
  uint32_t next = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t i = 0; i < extents;) {
      const auto admitted = fixture.Admit();
      ASSERT_FALSE(admitted.empty());
      for (const uint32_t extent : admitted) {
        ASSERT_EQ(extent, next);
        next = (next + 1) % extents;
        const auto bytes = fixture.Read(extent);
        ASSERT_TRUE(bytes.has_value());
        const auto stored = StoredBytes(tiny, tiny.pass->extents()[extent].extent);
        ASSERT_EQ(bytes->size(), stored.size());
        ASSERT_EQ(std::memcmp(bytes->data(), stored.data(), stored.size()), 0);
        ++i;
      }
    }
  }
  EXPECT_TRUE(fixture.Admit().empty()) << "no further than the steps allowed";
  EXPECT_EQ(fixture.ring.used(), 0u);
}

TEST(WeightStream, CountsTheTrafficOfAStepByItsExtents) {
  TinyModel tiny;
  StreamFixture fixture(tiny, 64 << 20, 0);
  fixture.Admit();
  uint64_t trunk = 0;
  uint64_t head = 0;
  uint64_t device = 0;
  for (const PassExtent& extent : tiny.pass->extents()) {
    const bool is_head = tiny.pass->ProductOf(extent).role == Role::kHead;
    (is_head ? head : trunk) += extent.extent.bytes;
    device += tiny.reader->BufferBytes(extent.extent);
  }
  EXPECT_EQ(fixture.stream.trunk(0).payload, trunk);
  EXPECT_EQ(fixture.stream.head(0).payload, head);
  EXPECT_EQ(fixture.stream.trunk(0).device + fixture.stream.head(0).device, device);
  EXPECT_EQ(fixture.stream.trunk(1).payload, 0u);
}

TEST(WeightStream, NeverHoldsTwoPasses) {
  TinyModel tiny;
  StreamFixture fixture(tiny, 64 << 20, 0);  // Room for several.
  fixture.stream.Allow(5);
  EXPECT_EQ(fixture.Admit().size(), tiny.pass->extents().size());
  ASSERT_TRUE(fixture.Read(0).has_value());
  EXPECT_EQ(fixture.Admit(), std::vector<uint32_t>{0}) << "the next step's, once it was met";
}

TEST(WeightStream, DepthBoundsTheLayersAhead) {
  TinyModel tiny;
  for (const uint64_t depth : {1, 2, 4}) {
    StreamFixture fixture(tiny, 64 << 20, depth);
    fixture.stream.Allow(1);
    EXPECT_EQ(fixture.Admit().size(), tiny.pass->FirstExtentOf(depth));
    fixture.stream.Reach(0, 1);
    EXPECT_EQ(fixture.Admit().size(),
              tiny.pass->FirstExtentOf(depth + 1) - tiny.pass->FirstExtentOf(depth));
    EXPECT_GT(fixture.stream.stops(WeightStream::Bound::kByDepth), 0u);
    EXPECT_EQ(fixture.stream.stops(WeightStream::Bound::kByRing), 0u);
  }
}

TEST(WeightStream, PinnedExtentsAreHeldAndNeverAdmitted) {
  TinyModel tiny;
  // Layers 1 and 3: what is pinned need not lie together.
  std::vector<uint32_t> pins;
  for (const size_t layer : {1, 3}) {
    for (uint32_t i = tiny.pass->FirstExtentOf(layer); i < tiny.pass->FirstExtentOf(layer + 1); ++i)
      pins.push_back(i);
  }
  const auto is_pin = [&](uint32_t i) {
    return std::find(pins.begin(), pins.end(), i) != pins.end();
  };
  HugeRegion pinned = *HugeRegion::Map(8 << 20);  // The whole checkpoint would fit.
  StreamFixture fixture(tiny, 64 << 20, 0);
  ASSERT_TRUE(fixture.stream.Pin(pins, pinned.data()).has_value());
  const auto admitted = fixture.Admit();
  std::vector<uint32_t> streamed;
  for (uint32_t i = 0; i < tiny.pass->extents().size(); ++i) {
    EXPECT_EQ(fixture.stream.IsPinned(i), is_pin(i));
    if (!is_pin(i)) streamed.push_back(i);
  }
  EXPECT_EQ(admitted, streamed) << "all the others, in order of use";
  for (const uint32_t extent : pins) {
    for (int time = 0; time < 2; ++time) {  // Taken as often as one likes.
      const auto stored = StoredBytes(tiny, tiny.pass->extents()[extent].extent);
      const auto bytes = fixture.stream.Take(extent);
      ASSERT_TRUE(bytes.has_value());
      ASSERT_EQ(std::memcmp(bytes->data(), stored.data(), stored.size()), 0);
    }
  }
}

TEST(WeightStream, TheNextStepBeginsWithTheFirstExtentThatStreams) {
  TinyModel tiny;
  std::vector<uint32_t> pins;
  for (uint32_t i = 0; i < tiny.pass->extents().size(); ++i) {
    if (i != 5 && i != 9) pins.push_back(i);
  }
  HugeRegion pinned = *HugeRegion::Map(8 << 20);
  StreamFixture fixture(tiny, 64 << 20, 0);
  ASSERT_TRUE(fixture.stream.Pin(pins, pinned.data()).has_value());
  EXPECT_EQ(fixture.stream.NextStreamed(0), 5u);
  EXPECT_EQ(fixture.stream.NextStreamed(6), 9u);
  EXPECT_EQ(fixture.stream.NextStreamed(10), 5u) << "passes follow one another";
  fixture.stream.Allow(1);
  EXPECT_EQ(fixture.Admit(), (std::vector<uint32_t>{5, 9}));
  const uint64_t first = tiny.pass->extents()[5].extent.bytes;
  const uint64_t second = tiny.pass->extents()[9].extent.bytes;
  EXPECT_EQ(fixture.stream.trunk(0).payload, first + second);
  ASSERT_TRUE(fixture.Read(5).has_value());
  EXPECT_EQ(fixture.Admit(), std::vector<uint32_t>{5});
  EXPECT_EQ(fixture.stream.trunk(1).payload, first);
}

TEST(FaultWeightStream, AFailedReadIsAnErrorAndRestartBeginsAgain) {
  TinyModel tiny(16 << 10, "eio@3");
  StreamFixture fixture(tiny, 64 << 20, 0);
  fixture.Admit();
  int failed = 0;
  for (uint32_t extent = 0; extent < 5; ++extent) failed += fixture.Read(extent) ? 0 : 1;
  EXPECT_EQ(failed, 1);
  fixture.stream.Drop();
  fixture.stream.Restart(0);
  EXPECT_EQ(fixture.ring.used(), 0u);
  EXPECT_EQ(fixture.Admit().front(), 0u);
}

}  // namespace
}  // namespace penstock::k3
