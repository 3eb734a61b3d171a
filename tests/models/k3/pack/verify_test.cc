#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "models/k3/pack/pack.h"
#include "tests/models/k3/pack/safetensors_file.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

Result<VerifyResult> Verify(const std::string& pack, const std::string& against = {}) {
  VerifyOptions options;
  options.pack = pack;
  options.against = against;
  return VerifyPack(options, SilentWatch());
}

TEST(Verify, AGoodPackIsEqualToItsSource) {
  const PackFolder folder;
  for (const char* codec : {"chain", "huffman", "raw"}) {
    const auto verified = Verify(folder.PackTiny(codec), kTiny);
    ASSERT_TRUE(verified.has_value()) << verified.error().message;
    EXPECT_EQ(verified->compared_bytes, verified->raw_bytes);
    EXPECT_GT(verified->stripes, 100u);
  }
}

TEST(Verify, AnyOtherByteIsFoundAndItsStripeNamed) {
  const PackFolder folder;
  const std::string pack = folder.PackTiny("chain");
  const auto opened = *io::Pack::Open(pack);
  const std::string good = ReadBytes(opened->stripes_path());
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto& stripes = opened->manifest().stripes;
  for (int run = 0; run < 24; ++run) {
    const size_t stripe = random() % stripes.size();
    const uint64_t at = stripes[stripe].offset + random() % stripes[stripe].padded_bytes();
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
    std::ofstream(opened->stripes_path(), std::ios::binary) << bad;
    const auto verified = Verify(pack);
    ASSERT_FALSE(verified.has_value()) << at;
    EXPECT_EQ(verified.error().code, ErrorCode::kUnsound);
    const std::string name = "stripe " + std::to_string(stripe) + " ";
    EXPECT_NE(verified.error().message.find(name), std::string::npos) << verified.error().message;
    EXPECT_NE(verified.error().message.find(opened->stripes_path()), std::string::npos);
  }
  // Cut short, or with a manifest that is wrong, it is as unsound.
  std::ofstream(opened->stripes_path(), std::ios::binary) << good.substr(0, good.size() / 2);
  EXPECT_EQ(Verify(pack).error().code, ErrorCode::kUnsound);
  std::ofstream(opened->stripes_path(), std::ios::binary) << good;
  ASSERT_TRUE(Verify(pack).has_value());
  std::ofstream(pack + "/pack.json", std::ios::app) << "x";
  EXPECT_EQ(Verify(pack).error().code, ErrorCode::kUnsound);
  EXPECT_EQ(Verify(folder.File("nothing")).error().code, ErrorCode::kRefused);
}

TEST(Verify, AnotherSourceIsFoundByteByByte) {
  const PackFolder folder;
  const std::string file = folder.File("a.safetensors");
  const std::string bytes = WriteMixedFile(file, 3, 300000);
  PackOptions options;
  options.tensor_file = file;
  options.out = folder.File("a.pack");
  ASSERT_TRUE(WritePack(options, SilentWatch()).has_value());
  ASSERT_TRUE(Verify(options.out, file).has_value());
  std::string other = bytes;
  other[other.size() - 5] = static_cast<char>(other[other.size() - 5] ^ 4);
  std::ofstream(file, std::ios::binary) << other;
  const auto verified = Verify(options.out, file);
  ASSERT_FALSE(verified.has_value());
  EXPECT_EQ(verified.error().code, ErrorCode::kUnsound);
}

}  // namespace
}  // namespace penstock::k3
