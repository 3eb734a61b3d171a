#include "ops/codec/choose.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "ops/codec/codec.h"
#include "runtime/measure/clock.h"

namespace penstock::ops {
namespace {

constexpr size_t kElements = 32 * 1024;
constexpr int kRuns = 3;

// Elements whose exponents are distributed like those of trained weights, more or less: each is half
// as common as the one above.
struct Sample {
  std::vector<uint8_t> exponents;
  std::vector<uint8_t> rest;  // With the slack that a decoder may read.

  Sample() : exponents(kElements), rest(kElements + kCodecSlack) {
    uint64_t state = 20240229;
    for (size_t i = 0; i < kElements; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      exponents[i] = static_cast<uint8_t>(121 - std::countl_zero(state) / 2 - (state >> 40 & 1));
      rest[i] = static_cast<uint8_t>(state >> 48);
    }
  }
};

// Decodes the sample: false is a refusal.
template <typename Kernels>
using DecodeSample = std::function<bool(const Kernels& kernels, uint16_t* out)>;

double Seconds(const std::function<void()>& work) {
  const uint64_t start = NowNs(Clock::kWall);
  work();
  return static_cast<double>(NowNs(Clock::kWall) - start) * 1e-9;
}

// The fastest of the candidates that give what the first one gives.
template <typename Kernels>
const Kernels* Fastest(std::span<const Kernels* const> candidates,
                       const DecodeSample<Kernels>& decode, const std::string& codec,
                       const Notice& notice) {
  std::vector<uint16_t> expected(kElements);
  std::vector<uint16_t> elements(kElements);
  decode(*candidates[0], expected.data());
  const Kernels* best = candidates[0];
  double best_seconds = 0;
  for (const Kernels* const kernels : candidates) {
    std::fill(elements.begin(), elements.end(), uint16_t{0});
    if (!decode(*kernels, elements.data()) || elements != expected) {
      Tell(notice, codec + " codec: " + kernels->name + " gives other elements than " +
                       candidates[0]->name + "; it is not used");
      continue;
    }
    double seconds = Seconds([&] { decode(*kernels, elements.data()); });
    for (int run = 1; run < kRuns; ++run) {
      seconds = std::min(seconds, Seconds([&] { decode(*kernels, elements.data()); }));
    }
    if (kernels != candidates[0] && seconds >= best_seconds) continue;
    best = kernels;
    best_seconds = seconds;
  }
  return best;
}

}  // namespace

const chain::Kernels* FastestChain(std::span<const chain::Kernels* const> candidates,
                                   const Notice& notice) {
  const Sample sample;
  std::vector<uint8_t> coded(chain::MostBytes(kElements) + kCodecSlack);
  const size_t bytes = chain::Encode(sample.exponents.data(), kElements, coded.data());
  const DecodeSample<chain::Kernels> decode = [&](const chain::Kernels& kernels, uint16_t* out) {
    return kernels.bf16(coded.data(), bytes, sample.rest.data(), kElements, out, false);
  };
  return Fastest(candidates, decode, "chain", notice);
}

const huffman::Kernels* FastestHuffman(std::span<const huffman::Kernels* const> candidates,
                                       const Notice& notice) {
  const Sample sample;
  uint64_t counts[256] = {};
  for (const uint8_t exponent : sample.exponents) ++counts[exponent];
  const huffman::Code code = huffman::MakeCode(counts, huffman::kLimit);
  huffman::Tables tables;
  tables.Build(code);
  std::vector<uint8_t> coded(huffman::MostBytes(kElements) + kCodecSlack);
  const size_t bytes = huffman::Encode(code, sample.exponents.data(), kElements, coded.data());
  const DecodeSample<huffman::Kernels> decode = [&](const huffman::Kernels& kernels,
                                                    uint16_t* out) {
    return kernels.bf16(tables.contents(), coded.data(), bytes, sample.rest.data(), kElements, out,
                        false);
  };
  return Fastest(candidates, decode, "huffman", notice);
}

CodecKernels ChooseCodecKernels(const std::string& isa, const Notice& notice) {
  if (isa == "scalar") return {&chain::Scalar(), &huffman::Scalar()};
  std::vector<const chain::Kernels*> chains = ChainKernelsHere();
  std::vector<const huffman::Kernels*> huffmans = HuffmanKernelsHere();
  if (isa == "avx2") {
    std::erase(chains, chain::Avx512());
    std::erase(huffmans, huffman::Avx512());
  }
  return {FastestChain(chains, notice), FastestHuffman(huffmans, notice)};
}

std::vector<const chain::Kernels*> ChainKernelsHere() {
  std::vector<const chain::Kernels*> all = {&chain::Scalar()};
  if (chain::Avx2() != nullptr) all.push_back(chain::Avx2());
  if (chain::Avx512() != nullptr) all.push_back(chain::Avx512());
  return all;
}

std::vector<const huffman::Kernels*> HuffmanKernelsHere() {
  std::vector<const huffman::Kernels*> all = {&huffman::Scalar()};
  if (huffman::Avx2() != nullptr) all.push_back(huffman::Avx2());
  if (huffman::Avx512() != nullptr) all.push_back(huffman::Avx512());
  return all;
}

}  // namespace penstock::ops
