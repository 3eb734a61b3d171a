#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "io/safetensors/regular_file.h"
#include "models/k3/pack/pack.h"
#include "models/k3/weights/packed/stripe_decoder.h"
#include "models/k3/weights/packed/trunk_pack.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {

// A watch that shows nothing and never stops.
inline PackWatch SilentWatch() {
  PackWatch watch;
  watch.begin = [](const std::string&, uint64_t, uint64_t) {};
  watch.advance = [](uint64_t) {};
  return watch;
}

// A directory for packs that goes away with the object.
class PackFolder {
 public:
  PackFolder() {
    std::string pattern = testing::TempDir() + "penstock_pack_XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~PackFolder() { std::filesystem::remove_all(path_); }
  PackFolder(const PackFolder&) = delete;
  PackFolder& operator=(const PackFolder&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }

  // Packs the embedded checkpoint.
  std::string PackTiny(const std::string& codec, uint64_t stripe_bytes = kMiB) const {
    PackOptions options;
    options.model = kTiny;
    options.out = File(codec + "_" + std::to_string(stripe_bytes));
    options.codec = codec;
    options.stripe.bytes = stripe_bytes;
    options.threads = 2;
    const auto packed = WritePack(options, SilentWatch());
    EXPECT_TRUE(packed.has_value()) << packed.error().message;
    return options.out;
  }

 private:
  std::string path_;
};

// The embedded checkpoint and an opened pack of it, with a reader of both.
struct PackedTiny {
  explicit PackedTiny(const std::string& directory, StripeCheck check = StripeCheck::kStored,
                      const std::string& fault = {})
      : tiny(16 << 10) {
    const auto checkpoint = *io::Checkpoint::Open(kTiny, nullptr);
    const auto file = static_cast<io::FileId>(tiny.catalogue->files().size());
    auto opened =
        OpenTrunkPack(directory, *checkpoint->Identity(), *tiny.catalogue, tiny.shape(), file);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    trunk = std::move(opened).value();
    codecs = ops::ChooseCodecKernels("auto", nullptr);
    decoders = *StripeDecoders::Create(*trunk.pack, trunk.pass, codecs, check, 2);
    std::vector<std::string> files = tiny.catalogue->files();
    files.push_back(trunk.pack->stripes_path());
    io::IoOptions options;
    options.ioengine = "pread";
    options.direct = "0";
    options.fault = fault;
    reader = *io::MakeReader(options, files, {}, nullptr, "layer");
  }

  TinyModel tiny;
  TrunkPack trunk;
  ops::CodecKernels codecs{};
  std::unique_ptr<StripeDecoders> decoders;
  std::unique_ptr<io::Reader> reader;
};

// The rows of an extent of `pass`, which must not be packed, as the checkpoint stores them.
inline std::vector<std::byte> RowsOf(const Catalogue& catalogue, const Pass& pass,
                                     uint32_t extent) {
  const io::Extent& where = pass.extents()[extent].extent;
  std::vector<std::byte> rows(where.bytes);
  const auto file = *io::RegularFile::Open(catalogue.FileName(where.file));
  EXPECT_TRUE(
      file.ReadAt(where.offset, {reinterpret_cast<char*>(rows.data()), rows.size()}).has_value());
  return rows;
}

}  // namespace penstock::k3
