#include "models/k3/synth/write/chunks.h"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "models/k3/synth/synth.h"

namespace penstock::k3 {
namespace {

// Tensors of odd sizes: chunks end inside of elements.
SynthOptions Odd() {
  SynthOptions o;
  o.layers = 3;
  o.hidden = 24;
  o.vocab = 100;
  o.kda_heads = 3;
  o.kda_width = 20;
  o.mla_heads = 1;
  o.dense_width = 50;
  o.experts = 5;
  o.top_k = 1;
  o.latent = 32;
  o.expert_width = 32;
  o.a_log_padding = false;
  return o;
}

// The bytes of every shard, filled tensor by tensor.
std::map<size_t, std::string> Whole(const SynthLayout& layout) {
  std::map<size_t, std::string> files;
  for (size_t shard = 0; shard < layout.shards(); ++shard) {
    const auto tensors = layout.Shard(shard);
    files[shard] = ShardHeader(tensors);
    for (const SynthTensor& tensor : tensors) {
      std::string bytes(tensor.bytes(), '\0');
      FillValues(4, tensor.name, tensor.dtype, tensor.recipe, 0,
                 std::as_writable_bytes(std::span(bytes)));
      files[shard] += bytes;
    }
  }
  return files;
}

// 4092 is no multiple of eight: groups of values lie across the ends of chunks.
TEST(ChunkCutter, ChunksInARowAreTheShards) {
  const SynthOptions options = Odd();
  const auto shape = ParseShape(*SynthConfig(options), "c");
  ASSERT_TRUE(shape);
  const SynthLayout layout(*shape, "", options.a_log_padding);
  const auto expected = Whole(layout);
  bool overhangs = false;
  for (const size_t size : {size_t{4096}, size_t{4092}, size_t{8192}, size_t{1} << 20}) {
    SCOPED_TRACE(size);
    std::vector<std::byte> memory(size + ChunkCutter::kSlack);
    ChunkCutter cutter(layout, size);
    Filler filler(4, 2);
    std::map<size_t, std::string> got;
    std::vector<std::byte> carried;
    Chunk chunk;
    chunk.memory = memory.data();
    while (cutter.Next(chunk)) {
      filler.Start(chunk);
      filler.Wait(chunk);
      std::memcpy(memory.data(), carried.data(), carried.size());
      std::string& file = got[chunk.shard];
      file.append(reinterpret_cast<const char*>(memory.data()), chunk.bytes);
      EXPECT_EQ(chunk.file_bytes, expected.at(chunk.shard).size());
      EXPECT_TRUE(chunk.bytes == size || file.size() == chunk.file_bytes);
      carried.assign(memory.begin() + size, memory.begin() + size + chunk.overhang);
      overhangs |= chunk.overhang != 0;
    }
    EXPECT_TRUE(got == expected);
  }
  EXPECT_TRUE(overhangs);
}

}  // namespace
}  // namespace penstock::k3
