#include "models/k3/weights/packed/same_source.h"

#include <fstream>

#include <gtest/gtest.h>

#include "models/k3/pack/source.h"
#include "tests/models/k3/pack/safetensors_file.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

struct PackedFile {
  PackedFile() : path(folder.File("a.safetensors")) {
    bytes = WriteMixedFile(path, 9, 700000);
    const PackOptions options = OptionsForFile(path, folder.File("pack"));
    EXPECT_TRUE(WritePack(options, SilentWatch()).has_value());
    pack = *io::Pack::Open(options.out);
    source = *FileSource(path, kMiB);
  }
  Status Check(uint64_t budget) const {
    std::vector<io::Extent> extents;
    for (const SourceStripe& stripe : source.stripes) extents.push_back(stripe.extent);
    return CheckSameSource(pack->manifest(), extents, source.files, budget);
  }
  PackFolder folder;
  std::string path;
  std::string bytes;
  std::unique_ptr<io::Pack> pack;
  PackSource source;
};

TEST(SameSource, ItsOwnSourceIsTheSameHoweverMuchIsCompared) {
  const PackedFile file;
  for (const uint64_t budget : {uint64_t{1}, uint64_t{3 * kMiB}, kGiB}) {
    const Status same = file.Check(budget);
    EXPECT_TRUE(same.has_value()) << same.error().message;
  }
}

TEST(SameSource, OneOtherByteIsFoundWhereAllIsCompared) {
  PackedFile file;
  for (const size_t at : {size_t{20}, file.bytes.size() / 3, file.bytes.size() - 1}) {
    std::string other = file.bytes;
    other[at] = static_cast<char>(other[at] ^ 1);
    std::ofstream(file.path, std::ios::binary) << other;
    const Status same = file.Check(kGiB);
    ASSERT_FALSE(same.has_value()) << at;
    EXPECT_EQ(same.error().code, ErrorCode::kRefused);
  }
}

TEST(SameSource, AReplacedTensorIsFoundBySamplesToo) {
  PackedFile file;
  for (size_t i = 0; i < file.source.stripes.size(); ++i) {
    const uint32_t tensor = file.source.plan[i].tensor;
    if (i != 0 && file.source.plan[i - 1].tensor == tensor) continue;
    std::string other = file.bytes;
    for (size_t s = i; s < file.source.stripes.size() && file.source.plan[s].tensor == tensor;
         ++s) {
      const io::Extent& extent = file.source.stripes[s].extent;
      for (uint64_t b = 0; b < extent.bytes; b += 2) {
        other[extent.offset + b] = static_cast<char>(other[extent.offset + b] ^ 1);
      }
    }
    std::ofstream(file.path, std::ios::binary) << other;
    EXPECT_FALSE(file.Check(1).has_value()) << "tensor " << tensor;
  }
}

}  // namespace
}  // namespace penstock::k3
