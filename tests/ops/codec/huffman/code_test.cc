#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "tests/ops/codec/huffman/planes.h"

namespace penstock::ops::huffman {
namespace {

uint64_t Cost(const Counts& counts, const Code& code) {
  uint64_t cost = 0;
  for (unsigned s = 0; s < 256; ++s) cost += counts.of[s] * code.lengths[s];
  return cost;
}

// Of Huffman's algorithm without a limit, and the longest length of one such code.
struct Unlimited {
  uint64_t cost;
  unsigned longest;
};
Unlimited HuffmanCost(const Counts& counts) {
  using Node = std::pair<uint64_t, unsigned>;  // Weight, height.
  std::priority_queue<Node, std::vector<Node>, std::greater<>> queue;
  for (const uint64_t count : counts.of) {
    if (count != 0) queue.push({count, 0});
  }
  uint64_t cost = 0;
  while (queue.size() > 1) {
    const Node a = queue.top();
    queue.pop();
    const Node b = queue.top();
    queue.pop();
    cost += a.first + b.first;
    queue.push({a.first + b.first, std::max(a.second, b.second) + 1});
  }
  return {cost, queue.top().second};
}

// The least cost over every complete assignment of lengths up to `limit`, by trying all.
uint64_t LeastCost(const std::vector<uint64_t>& counts, unsigned limit) {
  uint64_t least = UINT64_MAX;
  std::function<void(size_t, uint32_t, uint64_t)> choose = [&](size_t i, uint32_t room,
                                                               uint64_t cost) {
    if (i == counts.size()) {
      if (room == 0) least = std::min(least, cost);
      return;
    }
    for (unsigned length = 1; length <= limit; ++length) {
      const uint32_t share = 1u << (limit - length);
      if (share <= room) choose(i + 1, room - share, cost + counts[i] * length);
    }
  };
  choose(0, 1u << limit, 0);
  return least;
}

Bytes Written(const Code& code) {
  Bytes bytes(kMostCodeBytes);
  bytes.resize(WriteCode(code, bytes.data()));
  return bytes;
}

bool Reads(const Bytes& bytes, unsigned limit, Code& code) {
  const Fenced fenced(bytes, 0);
  return ReadCode(fenced.data(), bytes.size(), limit, code);
}

void ExpectRoundTrip(const Code& code) {
  const Bytes bytes = Written(code);
  Code read;
  ASSERT_TRUE(Reads(bytes, code.limit, read));
  EXPECT_EQ(read.limit, code.limit);
  EXPECT_EQ(std::memcmp(read.lengths, code.lengths, 256), 0);
}

TEST(HuffmanCode, CostsWhatHuffmansDoesWhereTheLimitDoesNotBind) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  int compared = 0;
  for (int round = 0; round < 200; ++round) {
    Counts counts;
    const size_t symbols = draw.Size(2, 256);
    for (size_t i = 0; i < symbols; ++i) counts.of[draw.Size(0, 255)] = draw.Size(1, 1000);
    if (std::count(counts.of, counts.of + 256, uint64_t{0}) > 254) continue;
    const Unlimited best = HuffmanCost(counts);
    const Code code = MakeCode(counts.of, kLongLimit);
    if (best.longest > kLongLimit) continue;
    ++compared;
    EXPECT_EQ(Cost(counts, code), best.cost);
    ExpectRoundTrip(code);
  }
  EXPECT_GT(compared, 100);
}

TEST(HuffmanCode, IsTheBestWithinTheLimitForSmallAlphabets) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  // Nine and ten symbols of Fibonacci's counts want 8 and 9 bits: the limit of 8 binds for ten.
  std::vector<std::vector<uint64_t>> cases = {{1, 1, 2, 3, 5, 8, 13, 21, 34}};
  for (size_t n = 2; n <= 6; ++n) {
    std::vector<uint64_t> counts;
    for (size_t i = 0; i < n; ++i) counts.push_back(uint64_t{1} << draw.Size(0, 20));
    cases.push_back(counts);
  }
  for (const auto& list : cases) {
    Counts counts;
    for (size_t i = 0; i < list.size(); ++i) counts.of[7 * i] = list[i];
    EXPECT_EQ(Cost(counts, MakeCode(counts.of, 8)), LeastCost(list, 8));
  }
}

// Ordered counts need ordered lengths only, which makes twelve symbols few enough to try.
TEST(HuffmanCode, IsTheBestWhereTheLimitBinds) {
  for (const unsigned n : {10u, 12u, 14u}) {
    Counts counts;
    uint64_t a = 1;
    uint64_t b = 1;
    for (unsigned s = 0; s < n; ++s) {
      counts.of[s] = a;
      b += a;
      std::swap(a, b);
    }
    ASSERT_GT(HuffmanCost(counts).longest, 8u);
    uint64_t least = UINT64_MAX;
    std::function<void(unsigned, unsigned, uint32_t, uint64_t)> choose =
        [&](unsigned s, unsigned most, uint32_t room, uint64_t cost) {
          if (s == n) {
            if (room == 0) least = std::min(least, cost);
            return;
          }
          for (unsigned length = 1; length <= most; ++length) {
            const uint32_t share = 256u >> length;
            if (share <= room) choose(s + 1, length, room - share, cost + counts.of[s] * length);
          }
        };
    choose(0, 8, 256, 0);
    EXPECT_EQ(Cost(counts, MakeCode(counts.of, 8)), least) << n;
  }
}

TEST(HuffmanCode, LimitsHold) {
  Draw draw(3);
  for (const unsigned limit : {8u, kLimit, kLongLimit}) {
    const Code code = CodeOf(Fibonacci(draw, 22), limit);
    EXPECT_EQ(*std::max_element(code.lengths, code.lengths + 256), limit);
    ExpectRoundTrip(code);
  }
}

TEST(HuffmanCode, All256Symbols) {
  Counts counts;
  std::fill(counts.of, counts.of + 256, uint64_t{9});
  const Code code = MakeCode(counts.of, kLimit);
  for (const uint8_t length : code.lengths) EXPECT_EQ(length, 8);
  ExpectRoundTrip(code);
  EXPECT_EQ(Written(code).size(), 2u + 32 + 128);
}

TEST(HuffmanCode, OneSymbolOrNone) {
  Counts counts;
  const Code of_nothing = MakeCode(counts.of, kLimit);
  ExpectRoundTrip(of_nothing);
  counts.of[200] = 5;
  const Code code = MakeCode(counts.of, kLimit);
  EXPECT_EQ(Written(code), Bytes{200});
  ExpectRoundTrip(code);
}

TEST(HuffmanCode, BytesOfAKnownCode) {
  Code code;
  code.lengths[3] = 1;
  code.lengths[5] = 3;
  code.lengths[6] = 3;
  code.lengths[14] = 2;
  EXPECT_EQ(Written(code), (Bytes{3, 14, 0b00001101, 0b00001000, 0x20, 0x12}));
}

TEST(HuffmanCode, OnlyCompleteSumsAreRead) {
  const Bytes complete = {3, 5, 0b101, 0x00};  // Two symbols of one bit.
  Code code;
  EXPECT_TRUE(Reads(complete, kLimit, code));
  EXPECT_FALSE(Reads({}, kLimit, code));
  EXPECT_FALSE(Reads({3, 5, 0b101, 0x10}, kLimit, code));        // 1 and 2 bits: incomplete.
  EXPECT_FALSE(Reads({3, 5, 0b111, 0x00, 0x00}, kLimit, code));  // Over-subscribed.
  EXPECT_TRUE(Reads({3, 5, 0b111, 0x10, 0x01}, kLimit, code));   // 1, 2, 2.
  EXPECT_FALSE(Reads({3, 5, 0b111, 0x10, 0x11}, kLimit, code));  // A spare nibble.
  EXPECT_FALSE(Reads({3, 5, 0b1101, 0x00}, kLimit, code));       // A spare bit.
  EXPECT_FALSE(Reads({3, 5, 0b011, 0x00}, kLimit, code));        // The last does not occur.
  EXPECT_FALSE(Reads({3, 5, 0b110, 0x00}, kLimit, code));        // Nor the first.
  EXPECT_FALSE(Reads({5, 3, 0b101, 0x00}, kLimit, code));
  EXPECT_FALSE(Reads({3, 3, 0b1, 0x00}, kLimit, code));
  EXPECT_FALSE(Reads({3, 5}, kLimit, code));
}

TEST(HuffmanCode, LongerThanTheLimitIsNotRead) {
  Draw draw(4);
  const Bytes bytes = Written(CodeOf(Fibonacci(draw, 20), kLongLimit));
  Code code;
  EXPECT_TRUE(Reads(bytes, kLongLimit, code));
  EXPECT_FALSE(Reads(bytes, kLimit, code));
}

// Whatever is accepted is written as the same bytes: there is one form of each code.
TEST(HuffmanCode, FlippedAndCutCodes) {
  Draw draw(5);
  SCOPED_TRACE(draw.Seed());
  const Bytes good = Written(CodeOf(Falling(draw, 20000, 0.7), kLimit));
  const auto check = [](const Bytes& bytes) {
    Code code;
    if (!Reads(bytes, kLimit, code)) return false;
    EXPECT_EQ(Written(code), bytes);
    return true;
  };
  EXPECT_TRUE(check(good));
  size_t accepted = 0;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    accepted += check(bytes);
  }
  EXPECT_LT(accepted, 20u);  // The first and last symbol may move together with spare bits only.
  for (size_t size = 2; size < good.size(); ++size) {
    EXPECT_FALSE(check(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size))));
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(check(longer));
  for (int round = 0; round < 2000; ++round) check(draw.Bytes(draw.Size(0, 40)));
}

}  // namespace
}  // namespace penstock::ops::huffman
