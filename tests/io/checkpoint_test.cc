#include "io/checkpoint.h"

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "io/safetensors/index.h"
#include "tests/io/safetensors/shard.h"

namespace penstock::io {
namespace {

// As io/safetensors/index.h names it.
const std::string kIndexFile(kIndexName);

class CheckpointTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Checkpoint>> Open() {
    notices_.clear();
    return Checkpoint::Open(scratch_.path(),
                            [this](std::string_view line) { notices_.emplace_back(line); });
  }

  std::string FileOf(const Checkpoint& checkpoint, std::string_view tensor) {
    const auto info = checkpoint.Find(tensor);
    return info ? std::filesystem::path(checkpoint.files()[info->extent.file]).filename() : "";
  }

  ScratchDirectory scratch_;
  std::vector<std::string> notices_;
};

TEST(CheckpointTiny, HasTheTensorsOfTheIndex) {
  std::vector<std::string> notices;
  const auto checkpoint = Checkpoint::Open(kTiny, [&](auto line) { notices.emplace_back(line); });
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const Checkpoint& c = **checkpoint;
  EXPECT_EQ(c.files().size(), 4u);
  EXPECT_EQ(c.size(), 1770u);
  EXPECT_TRUE(notices.empty());
  const auto embed = c.Find("language_model.model.embed_tokens.weight");
  ASSERT_TRUE(embed);
  EXPECT_EQ(embed->dtype, Dtype::kBF16);
  EXPECT_EQ((std::vector<uint64_t>(embed->shape.begin(), embed->shape.end())),
            (std::vector<uint64_t>{2048, 128}));
  EXPECT_EQ(embed->extent.bytes, 2048u * 128 * 2);
  EXPECT_EQ(embed->extent.offset, 8u + 568);
  EXPECT_EQ(embed->name(), "language_model.model.embed_tokens.weight");
  EXPECT_TRUE(c.files()[embed->extent.file].ends_with("/model-00004-of-000004.safetensors"));
  uint64_t bytes = 0;
  for (size_t i = 0; i < c.size(); ++i) {
    bytes += c.tensor(i).extent.bytes;
    const auto found = c.Find(c.tensor(i).name());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->extent.offset, c.tensor(i).extent.offset);
  }
  EXPECT_EQ(bytes, 7245216u);  // The index's total_size.
  EXPECT_FALSE(c.Find("language_model.model.embed_tokens"));
}

TEST_F(CheckpointTest, WithoutIndexTakesEveryFile) {
  scratch_.Write("b.safetensors", ByteShard({"t.0.x", "t.10.x"}));
  scratch_.Write("a.safetensors", ByteShard({"t.2.x"}));
  scratch_.Write("a.txt", "no");
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_FALSE((*checkpoint)->has_index());
  EXPECT_EQ((*checkpoint)->files().size(), 2u);
  EXPECT_EQ((*checkpoint)->size(), 3u);
  EXPECT_EQ(FileOf(**checkpoint, "t.2.x"), "a.safetensors");
  EXPECT_EQ(FileOf(**checkpoint, "t.10.x"), "b.safetensors");
}

TEST_F(CheckpointTest, WithoutIndexRefusesANameInTwoFiles) {
  scratch_.Write("a.safetensors", ByteShard({"t", "u"}));
  scratch_.Write("b.safetensors", ByteShard({"v", "t"}));
  ExpectRefused(Open(), {"a.safetensors", "b.safetensors", "'t'"});
}

TEST_F(CheckpointTest, RefusesADirectoryWithoutTensors) {
  ExpectRefused(Open(), {scratch_.path()});
  ExpectRefused(Checkpoint::Open(scratch_.File("none"), {}), {"none"});
  ExpectRefused(Checkpoint::Open("", {}), {"directory"});
  scratch_.Write("file", "x");
  ExpectRefused(Checkpoint::Open(scratch_.File("file"), {}), {"file", "directory"});
}

TEST_F(CheckpointTest, TheIndexDecidesAndOneNoticeSaysSo) {
  scratch_.Write("a.safetensors", ByteShard({"t", "u"}, 'a'));
  scratch_.Write("b.safetensors", ByteShard({"v", "t", "u", "w"}, 'b'));  // Listed.
  scratch_.Write("c.safetensors", ByteShard({"t", "z"}, 'c'));            // Not listed.
  scratch_.Write("d.safetensors", "damaged and not listed");
  scratch_.Write(
      kIndexFile,
      IndexText({{"t", "b.safetensors"}, {"u", "a.safetensors"}, {"v", "b.safetensors"}}));
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_TRUE((*checkpoint)->has_index());
  EXPECT_EQ((*checkpoint)->size(), 3u);
  EXPECT_EQ((*checkpoint)->files().size(), 2u);
  EXPECT_EQ(FileOf(**checkpoint, "t"), "b.safetensors");
  EXPECT_EQ(FileOf(**checkpoint, "u"), "a.safetensors");
  EXPECT_FALSE((*checkpoint)->Find("w"));
  EXPECT_FALSE((*checkpoint)->Find("z"));
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("'t'"), std::string::npos) << notices_[0];
  EXPECT_NE(notices_[0].find("2 more"), std::string::npos) << notices_[0];
}

TEST_F(CheckpointTest, RefusesAnIndexThatIsWrong) {
  scratch_.Write("a.safetensors", ByteShard({"t"}));
  scratch_.Write("b.safetensors", ByteShard({"u"}));
  const auto open = [&](const std::string& index) {
    scratch_.Write(kIndexFile, index);
    return Open();
  };
  // The tensor is not in the file named, though another has it.
  ExpectRefused(open(IndexText({{"t", "a.safetensors"}, {"u", "a.safetensors"}})),
                {"a.safetensors", "'u'"});
  ExpectRefused(open(IndexText({{"t", "none.safetensors"}})), {"none.safetensors"});
  ExpectRefused(open(IndexText({{"t", "../a.safetensors"}})), {kIndexFile, "'../a.safetensors'"});
  ExpectRefused(open(IndexText({{"t", scratch_.File("a.safetensors")}})), {kIndexFile, "absolute"});
  ExpectRefused(open(IndexText({{"t", "a.safetensors"}, {"t", "a.safetensors"}})),
                {kIndexFile, "'t'", "twice"});
  ExpectRefused(open(IndexText({{"t", "a.safetensors"}, {"\\u0074", "b.safetensors"}})),
                {kIndexFile, "'t'", "twice"});
  ExpectRefused(open(IndexText({})), {kIndexFile, "none"});
  ExpectRefused(open("{"), {kIndexFile});
  ExpectRefused(open(""), {kIndexFile});
}

TEST_F(CheckpointTest, RefusesAFileOfTheIndexThatIsNotWhole) {
  const std::string whole = ByteShard({"t"});
  scratch_.Write(kIndexFile, IndexText({{"t", "a.safetensors"}}));
  for (const size_t bytes : {size_t{0}, size_t{7}, size_t{8}, size_t{30}, whole.size() - 1}) {
    scratch_.Write("a.safetensors", whole.substr(0, bytes));
    ExpectRefused(Open(), {"a.safetensors"});
  }
  scratch_.Write("a.safetensors", whole + "!");
  ExpectRefused(Open(), {"a.safetensors"});
  scratch_.Write("a.safetensors", whole);
  EXPECT_TRUE(Open());
}

TEST_F(CheckpointTest, RefusesAFileThatIsNotRegularWithoutBlocking) {
  scratch_.Write(kIndexFile, IndexText({{"t", "a.safetensors"}}));
  ASSERT_EQ(::mkfifo(scratch_.File("a.safetensors").c_str(), 0600), 0);
  ExpectRefused(Open(), {"a.safetensors", "regular file"});
  ::unlink(scratch_.File("a.safetensors").c_str());
  ASSERT_EQ(::mkdir(scratch_.File("a.safetensors").c_str(), 0700), 0);
  ExpectRefused(Open(), {"a.safetensors", "regular file"});
  ::rmdir(scratch_.File("a.safetensors").c_str());
  ASSERT_EQ(::symlink("nowhere", scratch_.File("a.safetensors").c_str()), 0);
  ExpectRefused(Open(), {"a.safetensors"});
}

// An index that is there but cannot be read is not the same as none.
TEST_F(CheckpointTest, RefusesABrokenLinkInPlaceOfTheIndex) {
  scratch_.Write("a.safetensors", ByteShard({"t"}));
  ASSERT_EQ(::symlink("nowhere", scratch_.File(kIndexFile).c_str()), 0);
  ExpectRefused(Open(), {kIndexFile});
}

// Download caches are directories of links to files elsewhere.
TEST_F(CheckpointTest, FollowsSymbolicLinks) {
  const ScratchDirectory elsewhere;
  elsewhere.Write("blob", ByteShard({"t"}));
  ASSERT_EQ(::symlink(elsewhere.File("blob").c_str(), scratch_.File("a.safetensors").c_str()), 0);
  scratch_.Write(kIndexFile, IndexText({{"t", "a.safetensors"}}));
  EXPECT_TRUE(Open());
}

TEST_F(CheckpointTest, AnUnlistedPipeDoesNotBlock) {
  scratch_.Write("a.safetensors", ByteShard({"t"}));
  scratch_.Write(kIndexFile, IndexText({{"t", "a.safetensors"}}));
  ASSERT_EQ(::mkfifo(scratch_.File("b.safetensors").c_str(), 0600), 0);
  EXPECT_TRUE(Open());
}

// 60,000 tensors named as in the release.
TEST_F(CheckpointTest, TakesLittleMemoryPerTensor) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (int e = 0; e < 10000; ++e) {
    for (const char* leaf : {"w1.weight_packed", "w1.weight_scale", "w2.weight_packed",
                             "w2.weight_scale", "w3.weight_packed", "w3.weight_scale"}) {
      names.push_back("language_model.model.layers.92.block_sparse_moe.experts." +
                      std::to_string(e) + "." + leaf);
      pairs.emplace_back(names.back(), "a.safetensors");
    }
  }
  scratch_.Write("a.safetensors", ByteShard(names));
  scratch_.Write(kIndexFile, IndexText(pairs));
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ((*checkpoint)->size(), 60000u);
  EXPECT_LE((*checkpoint)->table_bytes(), 60000u * 48);
}

}  // namespace
}  // namespace penstock::io
