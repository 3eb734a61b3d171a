#include <filesystem>

#include <gtest/gtest.h>

#include "models/k3/pack/pack.h"
#include "tests/models/k3/pack/safetensors_file.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

PackOptions TinyOptions(const std::string& out, const std::string& codec) {
  PackOptions options;
  options.model = kTiny;
  options.out = out;
  options.codec = codec;
  options.stripe.bytes = kMiB;
  return options;
}

// Stops after `stripes` stripes, those counted that are checked because they were there.
PackWatch StopAfter(size_t stripes) {
  PackWatch watch = SilentWatch();
  watch.stop = [left = stripes]() mutable { return left-- == 0; };
  return watch;
}

TEST(WritePack, OneThatWasStoppedGoesOnAndEndsTheSame) {
  const PackFolder folder;
  for (const char* codec : {"chain", "auto"}) {
    const std::string whole = folder.File(std::string("whole_") + codec);
    ASSERT_TRUE(WritePack(TinyOptions(whole, codec), SilentWatch()).has_value());
    const std::string parts = folder.File(std::string("parts_") + codec);
    for (const size_t stripes : {0, 1, 30, 50}) {
      const auto stopped = WritePack(TinyOptions(parts, codec), StopAfter(stripes));
      ASSERT_FALSE(stopped.has_value());
      EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
      EXPECT_FALSE(std::filesystem::exists(parts + "/pack.json"));
    }
    const auto packed = WritePack(TinyOptions(parts, codec), SilentWatch());
    ASSERT_TRUE(packed.has_value()) << packed.error().message;
    EXPECT_EQ(packed->resumed_stripes, 50u);
    for (const char* file : {"/pack.json", "/stripes.bin"}) {
      EXPECT_TRUE(ReadBytes(whole + file) == ReadBytes(parts + file)) << codec << file;
    }
  }
}

TEST(WritePack, GoingOnWithSomethingElseIsRefused) {
  const PackFolder folder;
  const std::string out = folder.File("pack");
  ASSERT_FALSE(WritePack(TinyOptions(out, "chain"), StopAfter(10)).has_value());
  PackOptions other = TinyOptions(out, "huffman");
  EXPECT_EQ(WritePack(other, SilentWatch()).error().code, ErrorCode::kRefused);
  other = TinyOptions(out, "chain");
  other.stripe.bytes = 2 * kMiB;
  EXPECT_EQ(WritePack(other, SilentWatch()).error().code, ErrorCode::kRefused);
  ASSERT_TRUE(WritePack(TinyOptions(out, "chain"), SilentWatch()).has_value());
  EXPECT_EQ(WritePack(TinyOptions(out, "chain"), SilentWatch()).error().code, ErrorCode::kRefused)
      << "it is complete";
}

TEST(WritePack, GoingOnFromAnotherSourceOfTheSameIdentityIsRefused) {
  const PackFolder folder;
  const std::string file = folder.File("a.safetensors");
  const std::string bytes = WriteMixedFile(file, 5, 500000);
  PackOptions options = OptionsForFile(file, folder.File("a.pack"));
  options.codec = "chain";
  ASSERT_FALSE(WritePack(options, StopAfter(3)).has_value());
  std::string other = bytes;
  for (size_t at = 1000; at < kMiB; at += 2) other[at] = static_cast<char>(other[at] ^ 1);
  // Where the identity happens to look, the begun pack is another one's at once; else its sums are.
  std::ofstream(file, std::ios::binary) << other;
  EXPECT_EQ(WritePack(options, SilentWatch()).error().code, ErrorCode::kRefused);
  std::ofstream(file, std::ios::binary) << bytes;
  ASSERT_TRUE(WritePack(options, SilentWatch()).has_value());
}

TEST(WritePack, WantsOneSource) {
  const PackFolder folder;
  PackOptions options;
  options.out = folder.File("pack");
  EXPECT_EQ(WritePack(options, SilentWatch()).error().code, ErrorCode::kRefused);
  options.model = options.tensor_file = kTiny;
  EXPECT_EQ(WritePack(options, SilentWatch()).error().code, ErrorCode::kRefused);
  EXPECT_FALSE(std::filesystem::exists(options.out));
}

TEST(WritePack, AutoTakesRawWhereOneCoreCannotKeepUp) {
  const PackFolder folder;
  PackOptions options = TinyOptions(folder.File("fast"), "auto");
  options.disk.bytes = 900 * kGiB;
  options.cores = 1;
  ASSERT_TRUE(WritePack(options, SilentWatch()).has_value());
  const auto fast = *io::Pack::Open(options.out);
  for (const io::Stripe& stripe : fast->manifest().stripes) EXPECT_EQ(stripe.codec, io::kCodecRaw);
  options.out = folder.File("slow");
  options.disk.bytes = 100 * kMiB;
  ASSERT_TRUE(WritePack(options, SilentWatch()).has_value());
  const io::CodecTotals slow = (*io::Pack::Open(options.out))->manifest().Totals();
  EXPECT_LT(slow.stored_bytes, slow.raw_bytes * 7 / 10);
}

}  // namespace
}  // namespace penstock::k3
