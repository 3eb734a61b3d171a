#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/pack.h"
#include "io/safetensors/regular_file.h"
#include "tests/io/safetensors/shard.h"

namespace penstock::io {

// A directory in memory where there is one: thousands of packs are brought to the device.
class FastDirectory {
 public:
  FastDirectory() {
    std::string pattern = "/dev/shm/penstock-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      pattern = ::testing::TempDir() + "penstock-XXXXXX";
      EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    }
    path_ = pattern;
  }
  ~FastDirectory() { std::filesystem::remove_all(path_); }
  FastDirectory(const FastDirectory&) = delete;
  FastDirectory& operator=(const FastDirectory&) = delete;

  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }
  void Write(std::string_view name, std::string_view bytes) const {
    std::ofstream(File(name), std::ios::binary) << bytes;
  }
  std::string Read(std::string_view name) const {
    const auto text = ReadWholeFile(File(name), kGiB);
    EXPECT_TRUE(text) << text.error().message;
    return text ? *text : std::string();
  }
  bool Has(std::string_view name) const { return std::filesystem::exists(File(name)); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::vector<std::byte> RandomBytes(size_t bytes, std::mt19937_64& random) {
  std::vector<std::byte> out(bytes);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

// A pack of random stripes that a test can write again and again. What a codec makes of a chunk is
// random bytes here: the container does not look into them.
struct SmallPack {
  PackParameters parameters;
  std::vector<PackTensor> tensors;
  std::vector<PlannedStripe> plan;
  std::vector<std::vector<std::byte>> raw;     // [stripe]
  std::vector<std::vector<std::byte>> stored;  // [stripe]
  std::vector<EncodedStripe> stripes;
};

inline EncodedStripe BuildCoded(StripeBuilder& builder, uint8_t codec, uint8_t element,
                                const std::vector<std::byte>& raw, uint32_t chunk_elements,
                                std::mt19937_64& random) {
  builder.Begin(codec, element, raw, chunk_elements, RandomBytes(random() % 70, random));
  while (!builder.done()) {
    const size_t bytes = 1 + random() % (2 * builder.raw().size());
    const auto room = builder.Room(bytes + random() % 100);
    const auto content = RandomBytes(bytes, random);
    std::copy(content.begin(), content.end(), room.begin());
    builder.Commit(bytes);
  }
  return builder.Finish();
}

inline PackParameters SmallParameters() {
  PackParameters parameters;
  parameters.identity = "0123456789abcdef0123456789abcdef";
  parameters.source = "a \"model\"\n\\";
  parameters.stripe_bytes = 65536;
  parameters.extra = {{"chunk", "64"}, {"note", "\x01 \xc3\xa9"}};
  parameters.program = "penstock test";
  return parameters;
}

inline SmallPack MakeSmallPack(uint64_t seed, size_t tensors, uint64_t most_elements) {
  std::mt19937_64 random(seed);
  SmallPack pack;
  pack.parameters = SmallParameters();
  StripeBuilder builder;
  for (uint32_t t = 0; t < tensors; ++t) {
    PackTensor tensor = {.name = "layers." + std::to_string(t) + ".\"w\"",
                         .element = static_cast<uint8_t>(random() % kElements)};
    const size_t stripes = t == 1 ? 0 : 1 + random() % 2;
    for (size_t s = 0; s < stripes; ++s) {
      const uint64_t elements = 1 + random() % most_elements;
      pack.plan.push_back({t, tensor.elements, elements});
      tensor.elements += elements;
      pack.raw.push_back(RandomBytes(elements * ElementWidth(tensor.element), random));
      const auto chunk_elements = static_cast<uint32_t>(1 + random() % (elements + 10));
      const auto codec =
          static_cast<uint8_t>(tensor.element == kElementBytes ? kCodecRaw : random() % kCodecs);
      EncodedStripe stripe =
          codec == kCodecRaw
              ? builder.BuildRaw(tensor.element, pack.raw.back(), chunk_elements)
              : BuildCoded(builder, codec, tensor.element, pack.raw.back(), chunk_elements, random);
      pack.stored.emplace_back(stripe.stored.begin(), stripe.stored.end());
      stripe.stored = pack.stored.back();
      pack.stripes.push_back(stripe);
    }
    pack.tensors.push_back(tensor);
  }
  return pack;
}

inline Result<std::unique_ptr<PackWriter>> OpenWriter(const SmallPack& pack,
                                                      const std::string& directory,
                                                      PackWriterOptions options = {}) {
  return PackWriter::Open(directory, pack.parameters, pack.tensors, pack.plan, std::move(options));
}

// Appends what the writer still lacks, up to `upto` stripes in all.
inline Status AppendUpTo(const SmallPack& pack, size_t upto, PackWriter& writer) {
  while (writer.next() < upto) PENSTOCK_TRY_VOID(writer.Append(pack.stripes[writer.next()]));
  return {};
}

// Writes the pack, or goes on with it.
inline Status WritePack(const SmallPack& pack, const std::string& directory,
                        PackWriterOptions options = {}) {
  PENSTOCK_TRY(const auto writer, OpenWriter(pack, directory, std::move(options)));
  PENSTOCK_TRY_VOID(AppendUpTo(pack, pack.plan.size(), *writer));
  return writer->Finish();
}

}  // namespace penstock::io
