#include "runtime/memory/byte_ring.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock {
namespace {

struct Memory {
  explicit Memory(size_t size) : bytes(size) {}
  std::vector<std::byte> bytes;
  std::byte* data() { return bytes.data(); }
};

TEST(ByteRing, GivesPiecesInOrderAndTakesThemBackInOrder) {
  Memory memory(1024);
  ByteRing ring(memory.data(), 1024, 64);
  auto a = ring.Allocate(300);
  auto b = ring.Allocate(300);
  auto c = ring.Allocate(300);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->data(), memory.data());
  EXPECT_EQ(b->data(), memory.data() + 320);
  EXPECT_EQ(c->data(), memory.data() + 640);
  EXPECT_EQ(ring.used(), 960u);
  EXPECT_FALSE(ring.Allocate(128));

  b.reset();  // Not the oldest: its bytes stay until `a` is gone.
  EXPECT_FALSE(ring.Allocate(128));
  a.reset();
  auto d = ring.Allocate(640);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->data(), memory.data());
}

TEST(ByteRing, AnEmptyRingStartsAgainAtItsBeginning) {
  Memory memory(1024);
  ByteRing ring(memory.data(), 1024, 64);
  auto half = ring.Allocate(576);
  half.reset();
  // Behind the old head there are 448 bytes, before it 576: only a reset head fits the whole.
  auto whole = ring.Allocate(1024);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->data(), memory.data());
}

TEST(ByteRing, APieceLargerThanTheRingNeverFits) {
  Memory memory(1024);
  ByteRing ring(memory.data(), 1000, 64);
  EXPECT_EQ(ring.capacity(), 960u);
  EXPECT_FALSE(ring.Allocate(961));
  EXPECT_TRUE(ring.Allocate(960));
}

TEST(ByteRing, BytesComeBackWithTheLastReferenceOnly) {
  Memory memory(256);
  ByteRing ring(memory.data(), 256, 64);
  int frees = 0;
  ring.OnFree([&] { ++frees; });
  auto piece = ring.Allocate(256);
  BufferRef first = std::move(*piece).Freeze();
  piece.reset();
  BufferRef second = first.Slice(16, 16);
  first.reset();
  EXPECT_EQ(frees, 0);
  EXPECT_EQ(ring.used(), 256u);
  second.reset();
  EXPECT_EQ(frees, 1);
  EXPECT_EQ(ring.used(), 0u);
}

// Whatever the order of dropping, live pieces never overlap and everything comes back.
TEST(ByteRing, RandomTrafficKeepsPiecesApart) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Memory memory(1 << 16);
  ByteRing ring(memory.data(), memory.bytes.size(), 64);
  struct Live {
    MutableBuffer buffer;
    unsigned char mark;
  };
  std::vector<Live> live;
  size_t given = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      auto piece = ring.Allocate(1 + random() % 9000);
      if (!piece) continue;
      ++given;
      const auto mark = static_cast<unsigned char>(random());
      std::memset(piece->data(), mark, piece->size());
      live.push_back({std::move(*piece), mark});
    } else if (!live.empty()) {
      const size_t i_live = random() % live.size();
      for (size_t k = 0; k < live[i_live].buffer.size(); ++k) {
        ASSERT_EQ(static_cast<unsigned char>(live[i_live].buffer.data()[k]), live[i_live].mark);
      }
      std::swap(live[i_live], live.back());
      live.pop_back();
    }
  }
  EXPECT_GT(given, 1000u);
  live.clear();
  EXPECT_EQ(ring.used(), 0u);
}

}  // namespace
}  // namespace penstock
