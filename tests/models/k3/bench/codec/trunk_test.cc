#include "models/k3/bench/codec/trunk.h"

#include <cstring>

#include <gtest/gtest.h>

#include "runtime/small_file.h"
#include "tests/models/k3/bench/codec/go_on.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

TEST(Trunk, HoldsTheMatricesInOrderOfUseAgainAndAgain) {
  const TinyModel tiny;
  size_t trunk = 0;
  for (const Product& product : tiny.pass->products()) trunk += product.matrix.extent.bytes;
  const size_t extra = tiny.pass->products()[0].matrix.extent.bytes + 10;
  const auto weights = ReadTrunk(kTiny, trunk + extra + 1, {}, kGoOn);
  ASSERT_TRUE(weights) << weights.error().message;
  ASSERT_EQ(weights->bytes, trunk + extra);
  const std::byte* const data = weights->memory.data();
  EXPECT_EQ(std::memcmp(data, data + trunk, extra), 0);

  size_t at = 0;
  for (const Product& product : tiny.pass->products()) {
    const io::Extent& extent = product.matrix.extent;
    const auto file = ReadSmallFile(tiny.catalogue->FileName(extent.file));
    ASSERT_TRUE(file);
    ASSERT_EQ(std::memcmp(data + at, file->data() + extent.offset, extent.bytes), 0) << at;
    at += extent.bytes;
  }
}

TEST(Trunk, StripesTileIt) {
  const auto weights = ReadTrunk(kTiny, 100'000, {}, kGoOn);
  ASSERT_TRUE(weights);
  const std::byte* at = weights->memory.data();
  for (const auto& stripe : weights->stripes) {
    EXPECT_EQ(stripe.data(), at);
    at += stripe.size();
  }
  EXPECT_EQ(at, weights->memory.data() + 100'000);
}

TEST(Trunk, RefusesWhatIsNoCheckpointAndStopsWhenTold) {
  const auto absent = ReadTrunk("/absent", 1000, {}, kGoOn);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kRefused);
  const auto stopped =
      ReadTrunk(kTiny, 1'000'000, {}, [](uint64_t done) { return done < 500'000; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace penstock::k3
