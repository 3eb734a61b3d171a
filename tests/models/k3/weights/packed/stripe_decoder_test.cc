#include "models/k3/weights/packed/stripe_decoder.h"

#include <cstring>

#include <gtest/gtest.h>

#include "io/pack/read_stripe.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

class StripeDecoderTest : public testing::TestWithParam<const char*> {};

TEST_P(StripeDecoderTest, TilesAndWholeStripesAreTheRowsOfTheCheckpoint) {
  const PackFolder folder;
  PackedTiny packed(folder.PackTiny(GetParam()));
  const Pass plain = Pass::Build(*packed.tiny.catalogue, packed.tiny.shape(), kMiB);
  ASSERT_EQ(plain.extents().size(), packed.trunk.pass.extents().size());
  StripeDecoders::Lease decoder = packed.decoders->Take();
  for (uint32_t i = 0; i < plain.extents().size(); ++i) {
    const std::vector<std::byte> expected = RowsOf(*packed.tiny.catalogue, plain, i);
    const auto stored = *io::ReadStripe(*packed.trunk.pack, i);
    ASSERT_TRUE(decoder->Begin(i, stored).has_value());
    std::vector<std::byte> rows;
    for (size_t tile = 0; tile < decoder->tiles(); ++tile) {
      const auto bytes = decoder->Tile(tile);
      ASSERT_TRUE(bytes.has_value()) << bytes.error().message;
      rows.insert(rows.end(), bytes->begin(), bytes->end());
    }
    ASSERT_EQ(rows.size(), expected.size()) << i;
    ASSERT_EQ(std::memcmp(rows.data(), expected.data(), rows.size()), 0) << i;
    std::vector<std::byte> whole(expected.size());
    ASSERT_TRUE(decoder->DecodeAll(whole, ops::Store::kStreaming).has_value());
    ASSERT_EQ(std::memcmp(whole.data(), expected.data(), whole.size()), 0) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, StripeDecoderTest, testing::Values("chain", "huffman", "raw"),
                         [](const auto& param) { return std::string(param.param); });

TEST(FaultStripeDecoder, EveryFlippedByteIsAFailureOfItsStripe) {
  const PackFolder folder;
  PackedTiny packed(folder.PackTiny("chain"));
  StripeDecoders::Lease decoder = packed.decoders->Take();
  const uint32_t stripe = 3;
  const std::vector<std::byte> good = *io::ReadStripe(*packed.trunk.pack, stripe);
  std::vector<std::byte> rows(packed.trunk.pass.RawBytes(stripe));
  for (size_t at = 0; at < good.size(); at += 97) {
    std::vector<std::byte> bad = good;
    bad[at] ^= std::byte{0x10};
    Status status = decoder->Begin(stripe, bad);
    if (status) status = decoder->DecodeAll(rows, ops::Store::kCached);
    ASSERT_FALSE(status.has_value()) << at;
    EXPECT_EQ(status.error().code, ErrorCode::kFailed);
    EXPECT_NE(status.error().message.find("stripes.bin"), std::string::npos);
    EXPECT_NE(status.error().message.find("stripe 3"), std::string::npos);
  }
}

TEST(StripeDecoders, AsManyAsWereMadeAreGivenAtATime) {
  const PackFolder folder;
  PackedTiny packed(folder.PackTiny("raw"));
  const StripeDecoder* last = nullptr;
  {
    StripeDecoders::Lease one = packed.decoders->Take();
    StripeDecoders::Lease two = packed.decoders->Take();
    EXPECT_NE(one.operator->(), two.operator->());
    last = one.operator->();
  }
  EXPECT_EQ(packed.decoders->Take().operator->(), last) << "the one returned last";
}

}  // namespace
}  // namespace penstock::k3
