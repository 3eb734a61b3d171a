// Manifests that somebody else has written.

#include "io/pack/manifest.h"
#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

constexpr std::string_view kGood =
    R"({"schema":"penstock.pack.v1","kind":"file",
"source":{"identity":"00112233445566778899aabbccddeeff","name":"n"},
"parameters":{"codec":"auto","stripe_bytes":4096,"extra":{"k":"v"}},"program":"x",
"file":{"name":"stripes.bin","bytes":12288},
"tensors":[{"name":"a","element":1,"elements":100},{"name":"b","element":0,"elements":7}],
"stripes":[[0,0,60,0,192,1,"0000000000000001","0000000000000002"],
[0,60,40,4096,256,2,"0000000000000003","0000000000000004"],
[1,0,7,8192,192,0,"0000000000000005","0000000000000006"]],
"statistics":{"raw":{"stripes":1,"raw_bytes":7,"stored_bytes":192},
"chain":{"stripes":1,"raw_bytes":120,"stored_bytes":192},
"huffman":{"stripes":1,"raw_bytes":80,"stored_bytes":256}},
"raw_bytes":207,"stored_bytes":640,
"sum":"00000000000000aa"})";

struct Change {
  std::string from;
  std::string to;
  std::string named;  // In the message, besides the file.
};

void ExpectEachRefused(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    SCOPED_TRACE(change.from + " -> " + change.to);
    std::string json(kGood);
    const size_t at = json.find(change.from);
    ASSERT_NE(at, std::string::npos);
    json.replace(at, change.from.size(), change.to);
    ExpectRefused(PackManifest::Parse(json, "D/pack.json"), {"D/pack.json", change.named});
  }
}

TEST(PackManifestParse, ReadsAHandWrittenOne) {
  const auto manifest = PackManifest::Parse(kGood, "pack.json");
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->parameters.kind, "file");
  EXPECT_EQ(manifest->parameters.identity, "00112233445566778899aabbccddeeff");
  EXPECT_EQ(manifest->parameters.extra.at("k"), "v");
  ASSERT_EQ(manifest->stripes.size(), 3u);
  EXPECT_EQ(manifest->stripes[1], (Stripe{.tensor = 0,
                                          .codec = 2,
                                          .first = 60,
                                          .elements = 40,
                                          .raw_bytes = 80,
                                          .offset = 4096,
                                          .stored_bytes = 256,
                                          .stored_sum = 3,
                                          .raw_sum = 4}));
}

TEST(PackManifestParse, KeysAreThoseOfTheFormat) {
  ExpectEachRefused({
      {"penstock.pack.v1", "penstock.pack.v2", "'penstock.pack.v1', got 'penstock.pack.v2'"},
      {R"("schema":"penstock.pack.v1",)", "", "'schema'"},
      {R"("kind":"file")", R"("kind":"file","kind":"file")", "'kind'"},
      {R"("kind":"file")", R"("kind":"file","k\u0069nd":"file")", "'kind'"},
      {R"("kind":"file")", R"("kind":"file","time":1)", "'time'"},
      {R"("name":"n")", R"("name":"n","path":"p")", "'path'"},
      {R"("name":"n")", R"("name":"n","name":"n")", "'name'"},
      {R"(,"name":"n")", "", "'name'"},
      {R"("k":"v")", R"("k":"v","k":"w")", "'k'"},
      {R"("k":"v")", R"("k":1)", "'extra'"},
      {R"("codec":"auto",)", "", "'codec'"},
      {R"(,"element":0)", "", "tensor 1"},
      {R"("element":0)", R"("element":0,"shape":[7])", "tensor 1"},
      {R"("chain":{)", R"("zip":{)", "'zip'"},
      {R"(,"stored_bytes":640)", "", "'stored_bytes'"},
      {R"(,
"sum":"00000000000000aa")",
       "", "'sum'"},
      {R"("00000000000000aa")", R"("00000000000000AA")", "16 hexadecimal digits"},
  });
}

TEST(PackManifestParse, ValuesHaveTheirTypesAndRanges) {
  ExpectEachRefused({
      {R"("kind":"file")", R"("kind":1)", "'kind'"},
      {R"("kind":"file")", R"("kind":"leaf")", "'leaf'"},
      {"00112233", "0011223", "identity"},
      {"00112233", "0011223G", "identity"},
      {R"("codec":"auto")", R"("codec":"zstd")", "'zstd'"},
      {R"("stripe_bytes":4096)", R"("stripe_bytes":0)", "got 0"},
      {R"("stripe_bytes":4096)", R"("stripe_bytes":268435457)", "268435457"},
      {R"("stripe_bytes":4096)", R"("stripe_bytes":"4096")", "'stripe_bytes'"},
      {R"("stripe_bytes":4096)", R"("stripe_bytes":4096.0)", "'stripe_bytes'"},
      {R"("name":"stripes.bin")", R"("name":"../x")", "'../x'"},
      {R"("tensors":[)", R"("tensors":[7,)", "tensor 0"},
      {R"("name":"b")", R"("name":"a")", "'a'"},
      {R"("name":"b")", R"("name":"\u0000")", "\\x00"},
      {R"("element":0)", R"("element":6)", "got 6"},
      {R"("element":0)", R"("element":256)", "got 256"},
      {R"("elements":7)", R"("elements":-7)", "'elements'"},
      {R"("elements":7)", R"("elements":18446744073709551616)", "'elements'"},
      {R"("elements":7)", R"("elements":18446744073709551615)", "'b'"},
      {R"("bytes":12288)", R"("bytes":1e4)", "'bytes'"},
      {"[1,0,7,8192,192,0,", "[1,0,7,8192,192,3,", "stripe 2"},
      {"[1,0,7,8192,192,0,", "[1,0,7,8192,192,256,", "stripe 2"},
      {"[1,0,7,8192,192,0,", "[1,0,7,8192,192,", "stripe 2"},
      {"[1,0,7,8192,192,0,", "[1,0,7,8192,192,0,0,", "stripe 2"},
      {"[1,0,7,8192,192,0,", "[\"1\",0,7,8192,192,0,", "stripe 2"},
      {"[1,0,7,8192,192,0,", "[4294967296,0,7,8192,192,0,", "stripe 2"},
      {"0000000000000005", "000000000000005", "stripe 2"},
      {"\"0000000000000006\"", "6", "stripe 2"},
      {"\"0000000000000006\"", "\"0000000000000006\",1", "stripe 2"},
      {"\"0000000000000006\"", "\"0000000000000006\",\"0000000000000006\"", "stripe 2"},
  });
}

TEST(PackManifestParse, StripesLieOneBehindAnother) {
  ExpectEachRefused({
      {"[0,0,60,0,", "[0,0,60,4096,", "stripe 0 ('a', elements 0 to 59): expected it at offset 0"},
      {"60,40,4096,", "60,40,0,", "stripe 1"},     // Over the one before.
      {"60,40,4096,", "60,40,8192,", "got 8192"},  // A gap.
      {"60,40,4096,", "60,40,4160,", "got 4160"},  // Not aligned.
      {"4096,256,2", "4096,250,2", "got 250"},     // No multiple.
      {"4096,256,2", "4096,128,2", "got 128"},     // Too small for any stripe.
      {"4096,256,2", "4096,0,2", "got 0"},
      {"4096,256,2", "4096,4160,2", "stripe 2"},  // Then the next begins too early.
      {"4096,256,2", "4096,536870976,2", "536870976"},
      {"4096,256,2", "4096,18446744073709551552,2", "stripe 1"},
      {"8192,192,0", "8192,8192,0", "stripe 2"},  // Outside of the file.
      {"\"bytes\":12288", "\"bytes\":12287", "stripe 2"},
      {"\"bytes\":12288", "\"bytes\":16384", "12288"},
      {"\"bytes\":12288", "\"bytes\":0", "stripe 0"},
      {"[1,0,7,8192,192,0,", "[1,0,7,8192,192,1,", "stripe 2"},  // Bytes are raw only.
  });
}

TEST(PackManifestParse, StripesCoverTheTensors) {
  ExpectEachRefused({
      {"[0,60,40,", "[0,59,40,", "stripe 1"},
      {"[0,60,40,", "[0,61,40,", "stripe 1"},
      {"[0,60,40,", "[0,60,39,", "stripe 2"},
      {"[0,60,40,", "[0,60,41,", "stripe 1"},
      {"[0,60,40,", "[0,60,0,", "stripe 1"},
      {"[0,60,40,", "[0,60,18446744073709551615,", "stripe 1"},
      {"[0,60,40,", "[1,60,40,", "stripe 1"},
      {"[1,0,7,", "[2,0,7,", "stripe 2"},
      {"\"elements\":7}", "\"elements\":8}", "stripe 3"},
      {"\"elements\":7}", "\"elements\":8},{\"name\":\"c\",\"element\":0,\"elements\":1}",
       "stripe 3"},
      {"\"elements\":7}", "\"elements\":7},{\"name\":\"c\",\"element\":0,\"elements\":1}",
       "stripe 3"},
  });
}

TEST(PackManifestParse, TotalsAddUp) {
  ExpectEachRefused({
      {R"("stripes":1,"raw_bytes":7)", R"("stripes":2,"raw_bytes":7)", "raw"},
      {R"("raw_bytes":120)", R"("raw_bytes":121)", "chain"},
      {R"("raw_bytes":80,"stored_bytes":256)", R"("raw_bytes":80,"stored_bytes":0)", "huffman"},
      {R"("raw_bytes":207)", R"("raw_bytes":208)", "208"},
      {R"("stored_bytes":640)", R"("stored_bytes":641)", "641"},
  });
}

TEST(PackManifestParse, NothingButOneWholeObject) {
  for (size_t bytes = 0; bytes < kGood.size(); ++bytes) {
    EXPECT_FALSE(PackManifest::Parse(kGood.substr(0, bytes), "pack.json")) << bytes;
  }
  ExpectRefused(PackManifest::Parse(std::string(kGood) + "{}", "pack.json"), {"pack.json"});
  ExpectRefused(PackManifest::Parse(std::string(kGood) + "x", "pack.json"), {"pack.json"});
  ExpectRefused(PackManifest::Parse("[]", "pack.json"), {"pack.json"});
  ExpectRefused(PackManifest::Parse("\xff", "pack.json"), {"pack.json"});
}

// Whatever is accepted is a fixed point: it means what it is written as.
TEST(PackManifestParse, OneChangedByteIsRefusedOrMeant) {
  for (size_t at = 0; at < kGood.size(); ++at) {
    for (const char byte : {'0', '"', ',', '}', '\x80', '\n'}) {
      std::string json(kGood);
      json[at] = byte;
      const auto manifest = PackManifest::Parse(json, "pack.json");
      if (!manifest) continue;
      const auto again = PackManifest::Parse(manifest->ToJson(), "pack.json");
      ASSERT_TRUE(again) << again.error().message << "\n" << json;
      EXPECT_EQ(again->ToJson(), manifest->ToJson());
    }
  }
}

}  // namespace
}  // namespace penstock::io
