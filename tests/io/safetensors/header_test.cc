#include "io/safetensors/header.h"

#include <filesystem>
#include <fstream>
#include <random>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/io/safetensors/shard.h"

namespace penstock::io {
namespace {

Result<SafetensorsHeader> Parse(std::string_view json, uint64_t data_bytes) {
  return ParseSafetensorsHeader(json, data_bytes, "f.safetensors");
}

// One tensor 'x' with the given value of its entry.
void ExpectEntryRefused(const std::string& entry, uint64_t data_bytes, const std::string& why) {
  SCOPED_TRACE(entry);
  ExpectRefused(Parse("{\"x\":" + entry + "}", data_bytes), {"f.safetensors", "'x'", why});
}

TEST(SafetensorsHeader, ReadsTensorsInOrderOfOffset) {
  const auto header = Parse(R"({"__metadata__":{"format":"pt"},
    "b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
    "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
    "e":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]}}   )",
                            16);
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 3u);
  EXPECT_EQ(header->name(header->tensors[0]), "a");
  EXPECT_EQ(header->name(header->tensors[1]), "b");
  EXPECT_EQ(header->tensors[1].dtype, Dtype::kBF16);
  EXPECT_EQ(header->tensors[1].begin, 4u);
  EXPECT_EQ(header->shape(header->tensors[1]), (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(header->shape(header->tensors[0]), std::vector<uint64_t>{});
  EXPECT_EQ(header->shape(header->tensors[2]), (std::vector<uint64_t>{0, 7}));
}

TEST(SafetensorsHeader, RefusesWhatIsNoTensor) {
  ExpectEntryRefused("7", 0, "object");
  ExpectEntryRefused("{}", 0, "dtype");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[1]})", 1, "data_offsets");
  ExpectEntryRefused(R"({"dtype":"U8","data_offsets":[0,1]})", 1, "shape");
  ExpectEntryRefused(R"({"shape":[1],"data_offsets":[0,1]})", 1, "dtype");
  ExpectEntryRefused(R"({"dtype":"F7","shape":[1],"data_offsets":[0,1]})", 1, "'F7'");
  ExpectEntryRefused(R"({"dtype":8,"shape":[1],"data_offsets":[0,1]})", 1, "dtype");
  ExpectEntryRefused(R"({"dtype":"U8","shape":1,"data_offsets":[0,1]})", 1, "shape");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", 1, "shape");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[1.0],"data_offsets":[0,1]})", 1, "shape");
  ExpectEntryRefused(R"({"dtype":"U8","shape":["1"],"data_offsets":[0,1]})", 1, "shape");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]})", 1,
                     "shape");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[1],"data_offsets":[0]})", 1, "data_offsets");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1,1]})", 1, "data_offsets");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[1],"data_offsets":[0,-1]})", 1, "data_offsets");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[1],"data_offsets":{}})", 1, "data_offsets");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1})", 1, "'more'");
  ExpectEntryRefused(R"({"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]})", 1, "twice");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1],"shape":[1]})", 1, "twice");
  std::string rank = "[1";
  for (size_t i = 0; i < kMaxRank; ++i) rank += ",1";
  ExpectEntryRefused(R"({"dtype":"U8","data_offsets":[0,1],"shape":)" + rank + "]}", 1, "at most");
}

TEST(SafetensorsHeader, RefusesBytesThatDisagreeWithTheShape) {
  ExpectEntryRefused(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4, "expected 8");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[2],"data_offsets":[0,3]})", 3, "expected 2");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[0],"data_offsets":[0,3]})", 3, "expected 0");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[2],"data_offsets":[3,1]})", 3, "[3, 1]");
  ExpectEntryRefused(R"({"dtype":"U8","shape":[5],"data_offsets":[0,5]})", 4, "[0, 5]");
  // 2^32 * 2^32 is 2^64, which would be 0; 2^61 * 8 bytes as well.
  ExpectEntryRefused(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0,
                     "2^64");
  ExpectEntryRefused(R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]})", 0,
                     "2^64");
  // Large but empty is no overflow.
  EXPECT_TRUE(
      Parse(R"({"x":{"dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})", 0));
}

TEST(SafetensorsHeader, RefusesDataThatIsNotTiled) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"p":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"q":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  EXPECT_TRUE(Parse(two("[4,8]", "[0,4]"), 8));
  ExpectRefused(Parse(two("[0,4]", "[3,7]"), 8), {"f.safetensors", "'q'", "overlap", "4", "3"});
  ExpectRefused(Parse(two("[0,4]", "[0,4]"), 8), {"f.safetensors", "overlap"});
  ExpectRefused(Parse(two("[0,4]", "[5,9]"), 9), {"f.safetensors", "'q'", "gap", "4", "5"});
  ExpectRefused(Parse(two("[1,5]", "[5,9]"), 9), {"f.safetensors", "'p'", "gap"});
  ExpectRefused(Parse(two("[0,4]", "[4,8]"), 9), {"f.safetensors", "'q'", "8", "9"});
  ExpectRefused(Parse("{}", 1), {"f.safetensors", "0 bytes", "got 1"});
  EXPECT_TRUE(Parse("{}", 0));
}

TEST(SafetensorsHeader, RefusesAKeyThatIsThereTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const std::string other = R"({"dtype":"U8","shape":[1],"data_offsets":[1,2]})";
  ExpectRefused(Parse("{\"ab\":" + entry + ",\"ab\":" + other + "}", 2),
                {"f.safetensors", "'ab'", "twice"});
  // The same name once escaped: names are compared decoded.
  ExpectRefused(Parse("{\"ab\":" + entry + ",\"\\u0061b\":" + other + "}", 2),
                {"f.safetensors", "'ab'", "twice"});
  ExpectRefused(Parse(R"({"__metadata__":{},"__metadata__":{}})", 0),
                {"f.safetensors", "__metadata__", "twice"});
  ExpectRefused(Parse(R"({"__metadata__":{"a":"1","a":"2"}})", 0),
                {"f.safetensors", "'a'", "twice"});
}

TEST(SafetensorsHeader, RefusesWhatIsNoJsonObject) {
  for (const char* text : {"", "[]", "7", " {}", "{", "{\"a\"", "{\"a\":", "{} {}", "{}x", "{}]",
                           "{\"a\":{\"dtype\":\"U8\"", "{,}", "{\"a\" 1}", "\"{}\"", "null"}) {
    SCOPED_TRACE(text);
    ExpectRefused(Parse(text, 0), {"f.safetensors"});
  }
  ExpectRefused(Parse(R"({"__metadata__":{"a":1}})", 0), {"f.safetensors", "__metadata__"});
  ExpectRefused(Parse(R"({"__metadata__":"a"})", 0), {"f.safetensors", "__metadata__"});
}

TEST(SafetensorsHeader, RefusesNamesThatCannotBeShown) {
  const std::string entry = R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  ExpectRefused(Parse("{\"a\\u0000b" + entry, 1), {"f.safetensors", "'a\\x00b'"});
  ExpectRefused(Parse("{\"a\\nb" + entry, 1), {"f.safetensors", "'a\\x0ab'"});
  ExpectRefused(Parse("{\"a\\u001b[2J" + entry, 1), {"f.safetensors", "\\x1b"});
  ExpectRefused(Parse("{\"a\nb" + entry, 1), {"f.safetensors"});
  ExpectRefused(Parse("{\"a\xff" + entry, 1), {"f.safetensors", "UTF-8"});
  ExpectRefused(Parse("{\"a\xc0\x80" + entry, 1), {"f.safetensors", "UTF-8"});
  ExpectRefused(Parse("{\"a\\ud800" + entry, 1), {"f.safetensors"});
  ExpectRefused(Parse("{\"" + std::string(70000, 'n') + entry, 1), {"f.safetensors", "65536"});
  EXPECT_TRUE(Parse("{\"\xc3\xa4\\u00e4\\ud83d\\ude00" + entry, 1));
}

TEST(SafetensorsHeader, ReadsFromAFile) {
  const ScratchDirectory scratch;
  scratch.Write("a.safetensors", ByteShard({"x", "y"}));
  const auto file = RegularFile::Open(scratch.File("a.safetensors"));
  ASSERT_TRUE(file);
  const auto header = ReadSafetensorsHeader(*file);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->data_begin + header->data_bytes, file->size());
  EXPECT_EQ(header->data_bytes, 8u);
  EXPECT_EQ(header->hash.size(), 16u);
}

TEST(SafetensorsHeader, ChecksTheLengthBeforeItAllocates) {
  const ScratchDirectory scratch;
  const auto read = [&](const std::string& bytes) {
    scratch.Write("a.safetensors", bytes);
    return ReadSafetensorsHeader(*RegularFile::Open(scratch.File("a.safetensors")));
  };
  ExpectRefused(read(""), {"a.safetensors", "8"});
  ExpectRefused(read("1234567"), {"a.safetensors", "got 7"});
  ExpectRefused(read(std::string(8, '\0')), {"a.safetensors", "length of 0"});
  ExpectRefused(read(std::string(8, '\xff') + "{}"), {"a.safetensors", "18446744073709551615"});
  const std::string whole = ByteShard({"x"});
  ExpectRefused(read(whole.substr(0, 20)), {"a.safetensors", "got a length of"});
  ExpectRefused(read(whole.substr(0, whole.size() - 1)), {"a.safetensors", "'x'"});
  ExpectRefused(read(whole + "z"), {"a.safetensors", "'x'"});
}

// A file that claims a header of 1 TiB and has the size for it, but no blocks: the cap decides.
TEST(SafetensorsHeader, CapsTheHeaderOfASparseFile) {
  const ScratchDirectory scratch;
  const uint64_t claimed = uint64_t{1} << 40;
  scratch.Write("a.safetensors", std::string(reinterpret_cast<const char*>(&claimed), 8));
  ASSERT_EQ(::truncate(scratch.File("a.safetensors").c_str(), (int64_t{1} << 40) + 64), 0);
  ExpectRefused(ReadSafetensorsHeader(*RegularFile::Open(scratch.File("a.safetensors"))),
                {"a.safetensors", std::to_string(kMaxHeaderBytes), std::to_string(claimed)});
}

// Damage at random places: whatever comes back, it is a header or a refusal.
TEST(SafetensorsHeader, SurvivesMutations) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string good =
      R"({"__metadata__":{"format":"pt"},"a.0.b":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("a.1.b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}  )";
  ASSERT_TRUE(Parse(good, 16));
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = "{}[]\",:0189\\ux\xff"[random() % 16];
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, good.substr(random() % good.size(), random() % 20));
          break;
      }
      if (text.empty()) text = "{";
    }
    const auto header = Parse(text, 16);
    if (!header) {
      EXPECT_EQ(header.error().code, ErrorCode::kRefused) << text;
    }
  }
}

// Everything in the corpus of the fuzz target is read without harm.
TEST(SafetensorsHeader, ReadsTheCorpus) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           PENSTOCK_SOURCE_DIR "/tests/fuzz/corpus/safetensors_header")) {
    const auto text = ReadWholeFile(entry.path(), 1 << 20);
    ASSERT_TRUE(text);
    (void)Parse(*text, 16);
    ++files;
  }
  EXPECT_GE(files, 5u);
}

}  // namespace
}  // namespace penstock::io
