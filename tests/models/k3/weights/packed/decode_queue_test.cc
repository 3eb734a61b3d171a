#include "models/k3/weights/packed/decode_queue.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <semaphore>

#include <gtest/gtest.h>

#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

// A stream of stripes and a queue that decodes them, over rings of their own.
struct DecodeFixture {
  DecodeFixture(PackedTiny& packed_in, size_t decoded_bytes)
      : packed(packed_in),
        memory(*HugeRegion::Map(64 << 20)),
        decoded_memory(*HugeRegion::Map(decoded_bytes)),
        ring(memory.data(), memory.size(), 4096),
        decoded(decoded_memory.data(), decoded_bytes, kDecodedAlignment),
        stream(packed.trunk.pass, packed.tiny.shape().layers, *packed.reader, ring, 0, true),
        arena(2, {}),
        queue(packed.trunk.pass, stream, decoded, *packed.decoders, arena) {}
  ~DecodeFixture() { decoded.OnFree({}); }

  void Read(uint32_t extent) {
    std::binary_semaphore done{0};
    stream.Read(extent, [&] { done.release(); });
    done.acquire();
  }

  PackedTiny& packed;
  HugeRegion memory;
  HugeRegion decoded_memory;
  ByteRing ring;
  ByteRing decoded;
  WeightStream stream;
  graph::Arena arena;
  DecodeQueue queue;
};

size_t LargestRows(const Pass& pass) {
  size_t most = 0;
  for (uint32_t i = 0; i < pass.extents().size(); ++i) most = std::max(most, pass.RawBytes(i));
  return RoundUp(most, kDecodedAlignment);
}

TEST(DecodeQueue, ARingOfOneExtentGivesEveryStripeWhateverOrderTheyArriveIn) {
  const PackFolder folder;
  PackedTiny packed(folder.PackTiny("chain"));
  const Pass plain = Pass::Build(*packed.tiny.catalogue, packed.tiny.shape(), kMiB);
  DecodeFixture fixture(packed, LargestRows(packed.trunk.pass));
  std::vector<uint32_t> order;
  fixture.stream.Admit([&](uint32_t extent) { order.push_back(extent); });
  ASSERT_EQ(order.size(), plain.extents().size());
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  std::vector<std::binary_semaphore*> done;
  for (size_t i = 0; i < order.size(); ++i) done.push_back(new std::binary_semaphore(0));
  for (const uint32_t extent : order) {
    fixture.Read(extent);
    fixture.queue.Decode(extent, [&done, extent] { done[extent]->release(); });
  }
  for (uint32_t extent = 0; extent < order.size(); ++extent) {
    done[extent]->acquire();
    const auto rows = fixture.stream.Take(extent);
    ASSERT_TRUE(rows.has_value()) << rows.error().message;
    const auto expected = RowsOf(*packed.tiny.catalogue, plain, extent);
    ASSERT_EQ(rows->size(), expected.size());
    ASSERT_EQ(std::memcmp(rows->data(), expected.data(), expected.size()), 0);
    delete done[extent];
  }
  EXPECT_EQ(fixture.ring.used(), 0u) << "stored bytes went when they were decoded";
  EXPECT_GT(packed.decoders->traffic().raw_bytes, 0u);
}

TEST(FaultDecodeQueue, AStripeThatWasNotReadPassesAndTheNextFollows) {
  const PackFolder folder;
  PackedTiny packed(folder.PackTiny("chain"), StripeCheck::kStored, "eio@2");
  DecodeFixture fixture(packed, 64 << 20);
  fixture.stream.Admit([](uint32_t) {});
  int failed = 0;
  for (uint32_t extent = 0; extent < 6; ++extent) {
    fixture.Read(extent);
    std::binary_semaphore done{0};
    fixture.queue.Decode(extent, [&] { done.release(); });
    done.acquire();
    failed += fixture.stream.Take(extent) ? 0 : 1;
  }
  EXPECT_EQ(failed, 1);
}

TEST(DecodeQueue, APauseAnswersWhatWaitsAndRestartBeginsAgain) {
  const PackFolder folder;
  PackedTiny packed(folder.PackTiny("chain"));
  DecodeFixture fixture(packed, LargestRows(packed.trunk.pass));
  fixture.stream.Admit([](uint32_t) {});
  std::counting_semaphore<> answered{0};
  for (const uint32_t extent : {3u, 2u, 1u}) {  // Not the first: they wait for it.
    fixture.Read(extent);
    fixture.queue.Decode(extent, [&] { answered.release(); });
  }
  EXPECT_FALSE(answered.try_acquire());
  fixture.queue.Pause();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(answered.try_acquire());
  fixture.queue.Decode(0, [&] { answered.release(); });
  EXPECT_TRUE(answered.try_acquire()) << "while paused, at once";
  fixture.stream.Drop();
  fixture.stream.Restart(0);
  fixture.queue.Restart();
  fixture.stream.Admit([](uint32_t) {});
  fixture.Read(0);
  std::binary_semaphore done{0};
  fixture.queue.Decode(0, [&] { done.release(); });
  done.acquire();
  EXPECT_TRUE(fixture.stream.Take(0).has_value());
}

}  // namespace
}  // namespace penstock::k3
