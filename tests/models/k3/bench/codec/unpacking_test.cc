#include "models/k3/bench/codec/unpacking.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/bench/codec/generated.h"
#include "runtime/cpu/affinity.h"

namespace penstock::k3 {
namespace {

constexpr size_t kChunk = 1000;

// Writes whatever it is told to, and says that it succeeded.
class Forger final : public Decoder {
 public:
  bool Begin(std::span<const std::byte> code) override { return true; }
  bool Decode(std::span<const std::byte> stored, std::span<std::byte> raw) override { return true; }
};

// Some weights, packed raw, and a team of two threads on one CPU.
class UnpackingTest : public ::testing::Test {
 protected:
  UnpackingTest()
      : weights_(std::move(*GenerateWeights(1, 200'000, 1, [](uint64_t) { return true; }))) {
    EXPECT_TRUE(
        Pack(weights_, weights_.stripes.size(), kChunk, *MakeCoder(ops::Codec::kRaw), packed_));
    out_.resize(weights_.bytes);
    tiles_.resize(2 * 2 * kChunk);
    unpack_ = {.name = "copy", .packed = &packed_, .decoder = Copies()};
  }

  Destination To() { return {out_, tiles_, 2 * kChunk}; }
  std::byte& Stored(size_t chunk, size_t byte) {
    return const_cast<std::byte&>(packed_.chunks[chunk].stored[byte]);
  }

  // On a thread of its own, because a team pins it.
  template <class F>
  void WithTeam(F work) {
    std::thread([&] {
      const auto team = Team::Start(std::vector<unsigned>(2, AllowedCpus()->cpus.front()));
      ASSERT_TRUE(team);
      work(**team);
    }).join();
  }

  Weights weights_;
  Packed packed_;
  std::vector<std::byte> out_, tiles_;
  UnpackWork unpack_;
};

TEST_F(UnpackingTest, EveryChunkArrivesHoweverItIsShared) {
  WithTeam([&](Team& team) {
    Unpacking unpacking(unpack_, team, To());
    EXPECT_EQ(unpacking.weight_bytes(), weights_.bytes);
    unpacking.Run();
    EXPECT_EQ(std::memcmp(out_.data(), weights_.memory.data(), out_.size()), 0);
    std::fill(out_.begin(), out_.end(), std::byte{0});
    EXPECT_GT(unpacking.RunEqualParts(), 0);
    EXPECT_EQ(std::memcmp(out_.data(), weights_.memory.data(), out_.size()), 0);
    EXPECT_TRUE(unpacking.Check());
  });
}

TEST_F(UnpackingTest, ATileIsAllThatIsWritten) {
  WithTeam([&](Team& team) {
    unpack_.tile = true;
    Unpacking unpacking(unpack_, team, To());
    unpacking.Run();
    EXPECT_TRUE(unpacking.Check());
    EXPECT_EQ(std::count(out_.begin(), out_.end(), std::byte{0}),
              static_cast<std::ptrdiff_t>(out_.size()));
  });
}

TEST_F(UnpackingTest, APartIsTheFirstChunks) {
  WithTeam([&](Team& team) {
    unpack_.chunks = 3;
    Unpacking unpacking(unpack_, team, To());
    EXPECT_EQ(unpacking.weight_bytes(), 3 * 2 * kChunk);
    unpacking.Run();
    EXPECT_EQ(std::memcmp(out_.data(), weights_.memory.data(), 6 * kChunk), 0);
    EXPECT_EQ(out_[6 * kChunk], std::byte{0});
    EXPECT_EQ(out_[6 * kChunk + 1], std::byte{0});
  });
}

TEST_F(UnpackingTest, OtherWeightsAreUnsound) {
  WithTeam([&](Team& team) {
    Stored(7, 100) ^= std::byte{1};
    for (const bool tile : {false, true}) {
      unpack_.tile = tile;
      Unpacking unpacking(unpack_, team, To());
      const Status checked = unpacking.Check();
      ASSERT_FALSE(checked);
      EXPECT_EQ(checked.error().code, ErrorCode::kUnsound);
      EXPECT_NE(checked.error().message.find("chunk 7 "), std::string::npos);
    }
  });
}

TEST_F(UnpackingTest, WhatAnEarlierRunLeftDoesNotPass) {
  WithTeam([&](Team& team) {
    Unpacking(unpack_, team, To()).Run();
    unpack_.decoder = [] { return std::make_unique<Forger>(); };
    EXPECT_FALSE(Unpacking(unpack_, team, To()).Check());
  });
}

TEST_F(UnpackingTest, AChecksumThatFailsIsRememberedFromARunBefore) {
  WithTeam([&](Team& team) {
    unpack_.checksum = true;
    Unpacking unpacking(unpack_, team, To());
    EXPECT_TRUE(unpacking.Check());
    Stored(20, 5) ^= std::byte{0x80};
    unpacking.Run();
    Stored(20, 5) ^= std::byte{0x80};
    const Status checked = unpacking.Check();
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().message.find("chunk 20 "), std::string::npos);
  });
}

TEST_F(UnpackingTest, ARefusalIsUnsound) {
  WithTeam([&](Team& team) {
    packed_.chunks[1].stored = packed_.chunks[1].stored.first(10);
    EXPECT_FALSE(Unpacking(unpack_, team, To()).Check());
  });
}

}  // namespace
}  // namespace penstock::k3
