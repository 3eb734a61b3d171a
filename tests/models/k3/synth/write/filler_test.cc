#include "models/k3/synth/write/filler.h"

#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

SynthTensor Codes(std::vector<uint64_t> dims) {
  SynthTensor tensor{"t", io::Dtype::kU8, std::move(dims), {}};
  tensor.recipe.kind = Recipe::Kind::kCodes;
  return tensor;
}

TEST(Filler, FillsAheadAndInOrder) {
  const SynthTensor tensor = Codes({64, 100});
  std::vector<std::byte> expected(tensor.bytes());
  FillValues(5, tensor.name, tensor.dtype, tensor.recipe, 0, expected);
  for (const size_t threads : {size_t{0}, size_t{1}, size_t{3}}) {
    std::vector<std::byte> got(tensor.bytes());
    std::array<Chunk, 4> chunks;
    Filler filler(5, threads);
    for (size_t c = 0; c < chunks.size(); ++c) {
      chunks[c].memory = got.data() + c * 1600;
      for (size_t at = 0; at < 1600; at += 80) {
        chunks[c].pieces.push_back({&tensor, c * 1600 + at, at, 80});
      }
      filler.Start(chunks[c]);
    }
    for (const Chunk& chunk : chunks) filler.Wait(chunk);
    EXPECT_EQ(got, expected);
  }
}

TEST(Filler, EndsWithWorkLeft) {
  const SynthTensor tensor = Codes({1 << 20});
  std::vector<std::byte> memory(tensor.bytes());
  Chunk chunk;
  chunk.memory = memory.data();
  for (size_t at = 0; at < memory.size(); at += 1024) {
    chunk.pieces.push_back({&tensor, at, at, 1024});
  }
  Filler filler(1, 2);
  filler.Start(chunk);
}

}  // namespace
}  // namespace penstock::k3
