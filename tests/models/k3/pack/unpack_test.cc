#include <filesystem>

#include <gtest/gtest.h>

#include "models/k3/pack/pack.h"
#include "tests/models/k3/pack/safetensors_file.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

TEST(Unpack, EveryKindOfFileComesBackToTheByte) {
  const PackFolder folder;
  const unsigned seed = 7;
  int number = 0;
  for (const char* codec : {"auto", "chain", "huffman", "raw"}) {
    for (const size_t elements : {size_t{0}, size_t{1}, size_t{2}, size_t{4097}, size_t{200001}}) {
      const std::string name = std::to_string(++number);
      const std::string file = folder.File(name + ".safetensors");
      const std::string bytes = WriteMixedFile(file, seed, elements);
      PackOptions options = OptionsForFile(file, folder.File(name + ".pack"));
      options.codec = codec;
      options.threads = 2;
      const auto packed = WritePack(options, SilentWatch());
      ASSERT_TRUE(packed.has_value()) << packed.error().message;
      EXPECT_EQ(packed->raw_bytes, bytes.size());
      UnpackOptions unpack;
      unpack.pack = options.out;
      unpack.out = folder.File(name + ".back");
      const auto unpacked = Unpack(unpack, SilentWatch());
      ASSERT_TRUE(unpacked.has_value()) << unpacked.error().message;
      EXPECT_EQ(unpacked->bytes, bytes.size());
      EXPECT_TRUE(ReadBytes(unpack.out) == bytes) << codec << " " << elements;
      EXPECT_FALSE(Unpack(unpack, SilentWatch()).has_value()) << "the file is there";
    }
  }
}

TEST(Unpack, APackOfATrunkIsRefused) {
  const PackFolder folder;
  UnpackOptions unpack;
  unpack.pack = folder.PackTiny("raw");
  unpack.out = folder.File("back");
  const auto unpacked = Unpack(unpack, SilentWatch());
  ASSERT_FALSE(unpacked.has_value());
  EXPECT_EQ(unpacked.error().code, ErrorCode::kRefused);
  EXPECT_FALSE(std::filesystem::exists(unpack.out));
}

TEST(Unpack, OneThatWasStoppedLeavesNothingAndIsDoneAgain) {
  const PackFolder folder;
  const std::string file = folder.File("a.safetensors");
  const std::string bytes = WriteMixedFile(file, 5, 500000);
  const PackOptions options = OptionsForFile(file, folder.File("a.pack"));
  ASSERT_TRUE(WritePack(options, SilentWatch()).has_value());
  UnpackOptions unpack;
  unpack.pack = options.out;
  unpack.out = folder.File("b");
  PackWatch watch = SilentWatch();
  watch.stop = [left = 3]() mutable { return left-- == 0; };
  EXPECT_EQ(Unpack(unpack, watch).error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(unpack.out));
  EXPECT_FALSE(std::filesystem::exists(unpack.out + ".partial"));
  ASSERT_TRUE(Unpack(unpack, SilentWatch()).has_value());
  EXPECT_TRUE(ReadBytes(unpack.out) == bytes);
}

}  // namespace
}  // namespace penstock::k3
