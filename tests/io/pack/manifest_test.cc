#include "io/pack/manifest.h"

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

PackManifest TwoTensors() {
  PackManifest manifest;
  manifest.parameters = SmallParameters();
  manifest.tensors = {{"a", 1, 100}, {"empty", 5, 0}, {"b", 0, 30}};
  manifest.stripes = {
      {.codec = 1, .elements = 60, .raw_bytes = 120, .stored_bytes = 192},
      {.codec = 2,
       .first = 60,
       .elements = 40,
       .raw_bytes = 80,
       .offset = 4096,
       .stored_bytes = 4160,
       .stored_sum = ~uint64_t{0},
       .raw_sum = 1},
      {.tensor = 2, .elements = 30, .raw_bytes = 30, .offset = 12288, .stored_bytes = 192}};
  manifest.file_bytes = 16384;
  return manifest;
}

TEST(PackManifest, ReadsWhatItWrites) {
  const PackManifest manifest = TwoTensors();
  const auto read = PackManifest::Parse(manifest.ToJson(), "pack.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->parameters, manifest.parameters);
  EXPECT_EQ(read->file_bytes, manifest.file_bytes);
  EXPECT_EQ(read->tensors, manifest.tensors);
  EXPECT_EQ(read->stripes, manifest.stripes);
  EXPECT_EQ(read->ToJson(), manifest.ToJson());
}

TEST(PackManifest, CountsByCodecAndTensor) {
  const PackManifest manifest = TwoTensors();
  const auto statistics = manifest.Statistics();
  EXPECT_EQ(statistics[0], (CodecTotals{1, 30, 192}));
  EXPECT_EQ(statistics[1], (CodecTotals{1, 120, 192}));
  EXPECT_EQ(statistics[2], (CodecTotals{1, 80, 4160}));
  EXPECT_EQ(manifest.Totals(), (CodecTotals{3, 230, 4544}));
  ASSERT_EQ(manifest.StripesOf(0).size(), 2u);
  EXPECT_EQ(manifest.StripesOf(0).data(), &manifest.stripes[0]);
  EXPECT_EQ(manifest.StripesOf(1).size(), 0u);
  ASSERT_EQ(manifest.StripesOf(2).size(), 1u);
  EXPECT_EQ(manifest.StripesOf(2).data(), &manifest.stripes[2]);
  EXPECT_EQ(manifest.StripeName(1), "stripe 1 ('a', elements 60 to 99)");
}

TEST(PackManifest, WithoutTensorsIsOneToo) {
  PackManifest manifest;
  manifest.parameters = SmallParameters();
  const auto read = PackManifest::Parse(manifest.ToJson(), "pack.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->file_bytes, 0u);
}

TEST(PackManifest, ParametersThatNoPackCanHave) {
  EXPECT_TRUE(CheckParameters(SmallParameters(), "p"));
  const auto refused = [](const auto& change, const std::string& part) {
    PackParameters parameters = SmallParameters();
    change(parameters);
    ExpectRefused(CheckParameters(parameters, "place"), {"place: ", part});
  };
  refused([](auto& p) { p.kind = "branch"; }, "'branch'");
  refused([](auto& p) { p.identity.pop_back(); }, "32");
  refused([](auto& p) { p.identity[3] = 'A'; }, "32");
  refused([](auto& p) { p.codec = "zip"; }, "'zip'");
  refused([](auto& p) { p.stripe_bytes = 0; }, "got 0");
  refused([](auto& p) { p.stripe_bytes = kMaxStripeRawBytes + 1; }, "268435457");
  refused([](auto& p) { p.source = "\xff"; }, "UTF-8");
  refused([](auto& p) { p.program = "\xff"; }, "UTF-8");
  refused([](auto& p) { p.extra["\xff"] = ""; }, "UTF-8");
  refused([](auto& p) { p.extra["k"] = "\xff"; }, "UTF-8");
}

TEST(PackManifest, TensorsThatNoPackCanHave) {
  EXPECT_TRUE(CheckTensors(TwoTensors().tensors, "p"));
  const auto refused = [](std::vector<PackTensor> tensors, const std::string& part) {
    ExpectRefused(CheckTensors(tensors, "place"), {"place: ", part});
  };
  refused({{"x", 1, 1}, {"y", 1, 1}, {"x", 0, 2}}, "'x' is there twice");
  refused({{"x", 6, 1}}, "got 6");
  refused({{"x\n", 1, 1}}, "control");
  refused({{"x\xff", 1, 1}}, "UTF-8");
  refused({{"x", 5, uint64_t{1} << 60}}, "2^62");
  EXPECT_TRUE(CheckTensors(std::vector<PackTensor>{{"x", 5, (uint64_t{1} << 60) - 1}}, "p"));
}

TEST(PackManifest, StripesCoverTheirTensorsExactly) {
  const std::vector<PackTensor> tensors = {{"e", 1, 0}, {"a", 1, 10}, {"b", 0, 5}, {"f", 0, 0}};
  const auto check = [&](const std::vector<PlannedStripe>& stripes) -> Status {
    CoverCheck cover(tensors, "place");
    for (const auto& stripe : stripes) PENSTOCK_TRY_VOID(cover.Next(stripe));
    return cover.End();
  };
  EXPECT_TRUE(check({{1, 0, 4}, {1, 4, 6}, {2, 0, 5}}));
  ExpectRefused(check({{1, 0, 4}, {1, 4, 6}, {2, 0, 5}, {3, 0, 0}}), {"place: stripe 3"});
  ExpectRefused(check({{1, 0, 4}, {1, 4, 6}}), {"stripe 2", "tensor 'b'", "got none"});
  ExpectRefused(check({{1, 0, 4}, {1, 4, 6}, {2, 0, 4}}), {"stripe 3", "tensor 'b'"});
  ExpectRefused(check({{1, 0, 4}, {1, 5, 5}, {2, 0, 5}}), {"stripe 1", "from 5"});
  ExpectRefused(check({{1, 0, 4}, {1, 3, 7}, {2, 0, 5}}), {"stripe 1", "from 3"});
  ExpectRefused(check({{1, 0, 4}, {2, 0, 5}, {1, 4, 6}}), {"stripe 1", "got tensor 2"});
  ExpectRefused(check({{2, 0, 5}, {1, 0, 10}}), {"stripe 0"});
  ExpectRefused(check({{1, 0, 11}}), {"stripe 0", "got 11"});
  ExpectRefused(check({{1, 0, 0}}), {"stripe 0", "got 0"});
  ExpectRefused(check({{1, 0, UINT64_MAX}}), {"stripe 0"});
}

TEST(PackManifest, StripesHaveALimit) {
  const std::vector<PackTensor> tensors = {{"a", 1, kMaxStripeRawBytes}};
  EXPECT_TRUE(CoverCheck(tensors, "p").Next({0, 0, kMaxStripeRawBytes / 2}));
  EXPECT_FALSE(CoverCheck(tensors, "p").Next({0, 0, kMaxStripeRawBytes / 2 + 1}));
}

TEST(PackManifestSum, EveryOtherByteIsRefused) {
  const FastDirectory directory;
  const SmallPack small = MakeSmallPack(21, 3, 60);
  const std::string path = directory.File("pack");
  ASSERT_TRUE(WritePack(small, path));
  const std::string json = directory.Read("pack/pack.json");
  ASSERT_TRUE(CheckManifestSum(json, "pack.json"));
  for (size_t at = 0; at < json.size(); ++at) {
    std::string other = json;
    other[at] = static_cast<char>(other[at] ^ 1);
    ASSERT_FALSE(CheckManifestSum(other, "pack.json")) << at;
    ASSERT_FALSE(CheckManifestSum(json.substr(0, at), "pack.json")) << at;
  }
  // What parses as well as before is found out when the pack is opened.
  std::string renamed = json;
  renamed.replace(renamed.find("0123456789abcdef0123"), 1, "1");
  ASSERT_TRUE(PackManifest::Parse(renamed, "pack.json"));
  directory.Write("pack/pack.json", renamed);
  EXPECT_EQ(Pack::Open(path).error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace penstock::io
