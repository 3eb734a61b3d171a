// Claim: bf16 whose exponents are in four Huffman streams is decoded past the caches at no less
//   than 0.38 of the rate of memcpy, and at least eight times as fast as by one symbol after
//   another; (rest + coded plane) / bf16 is at most 0.670 on these weights.
// Unit: bytes of bf16 a second of one thread, in processor time. `of_memcpy` is the share of what
//   memcpy of the same bytes reaches right before, iteration by iteration; `ratio` the bytes stored.
// Bound: memcpy; the chain of one stream's lookups (and, load, shift).
// The plain decoder is the form in which such decoders are usually published: it decodes an eighth
// of the weights, and merges them with Merge.
// Run: penstock_ops_bench --benchmark_filter=BM_Huffman --benchmark_repetitions=9
//        --benchmark_enable_random_interleaving=true

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/ops/bandwidth.h"
#include "bench/ops/codec_weights.h"
#include "ops/codec/element.h"
#include "ops/codec/huffman/huffman.h"

namespace penstock::bench {
namespace {

namespace huffman = ops::huffman;

constexpr size_t kChunk = 57344;
constexpr size_t kChunksOfStripe = 64;
constexpr size_t kStripes = 37;
constexpr size_t kElements = kStripes * kChunksOfStripe * kChunk;  // 259 MiB.

// One stripe of chunks, each its rest and its coded plane, many times in memory.
struct Stored {
  struct Chunk {
    size_t at;
    size_t coded_bytes;
  };
  huffman::Code code;
  huffman::Tables tables;
  std::vector<Chunk> chunks;
  size_t stripe_bytes = 0;
  uint8_t* bytes = nullptr;
  uint8_t* out = LargePages(kElements * sizeof(uint16_t));
  std::vector<uint8_t> symbols = std::vector<uint8_t>(kChunk);

  Stored() {
    const size_t n = kChunk * kChunksOfStripe;
    const std::vector<uint16_t> weights = DrawnWeights(n);
    uint64_t counts[256] = {};
    for (const uint16_t weight : weights) ++counts[weight >> 7 & 255];
    code = huffman::MakeCode(counts, huffman::kLimit);
    tables.Build(code);
    std::vector<uint8_t> stripe(kChunksOfStripe * (kChunk + huffman::MostBytes(kChunk)));
    for (size_t i = 0; i < kChunksOfStripe; ++i) {
      uint8_t* const rest = stripe.data() + stripe_bytes;
      Split(ops::Element::kBf16, reinterpret_cast<const uint8_t*>(weights.data() + i * kChunk),
            kChunk, symbols.data(), rest);
      chunks.push_back(
          {stripe_bytes, huffman::Encode(code, symbols.data(), kChunk, rest + kChunk)});
      stripe_bytes += kChunk + chunks.back().coded_bytes;
    }
    bytes = LargePages(kStripes * stripe_bytes + 64);
    for (size_t i = 0; i < kStripes; ++i) {
      std::memcpy(bytes + i * stripe_bytes, stripe.data(), stripe_bytes);
    }
  }
};

Stored& TheStored() {
  static Stored stored;
  return stored;
}

// Calls `decode(rest, coded, coded_bytes, out)` for every chunk of the first stripes, after a memcpy
// of as many bytes.
template <class Decode>
void Measure(benchmark::State& state, size_t stripes, bool one_tile, Decode decode) {
  Stored& stored = TheStored();
  const size_t out_bytes = stripes * kChunksOfStripe * kChunk * sizeof(uint16_t);
  const size_t source_bytes = std::min(out_bytes, kStripes * stored.stripe_bytes);
  double copying = 0;
  double decoding = 0;
  for (auto _ : state) {
    const double start = ThreadSeconds();
    std::memcpy(stored.out, stored.bytes, source_bytes);
    benchmark::ClobberMemory();
    const double copied = ThreadSeconds();
    uint8_t* out = stored.out;
    for (size_t stripe = 0; stripe < stripes; ++stripe) {
      const uint8_t* const bytes = stored.bytes + stripe * stored.stripe_bytes;
      for (const Stored::Chunk& chunk : stored.chunks) {
        const uint8_t* const rest = bytes + chunk.at;
        if (!decode(rest, rest + kChunk, chunk.coded_bytes, out)) state.SkipWithError("corrupt");
        if (!one_tile) out += kChunk * sizeof(uint16_t);
      }
    }
    benchmark::ClobberMemory();
    const double decoded = ThreadSeconds();
    state.SetIterationTime(decoded - copied);
    copying +=
        (copied - start) * static_cast<double>(out_bytes) / static_cast<double>(source_bytes);
    decoding += decoded - copied;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * out_bytes));
  state.counters["of_memcpy"] = copying / decoding;
  state.counters["ratio"] = static_cast<double>(stored.stripe_bytes) /
                            static_cast<double>(kChunksOfStripe * kChunk * sizeof(uint16_t));
}

enum class Where { kStreaming, kCached, kTile };

void Bf16(benchmark::State& state, const huffman::Kernels& kernels, Where where) {
  Stored& stored = TheStored();
  Measure(state, kStripes, where == Where::kTile,
          [&](const uint8_t* rest, const uint8_t* coded, size_t coded_bytes, uint8_t* out) {
            return kernels.bf16(stored.tables.contents(), coded, coded_bytes, rest, kChunk,
                                reinterpret_cast<uint16_t*>(out), where == Where::kStreaming);
          });
}

void Plain(benchmark::State& state) {
  Stored& stored = TheStored();
  Measure(state, kStripes / 8, false,
          [&](const uint8_t* rest, const uint8_t* coded, size_t coded_bytes, uint8_t* out) {
            const bool whole = huffman::DecodePlainly(stored.code, coded, coded_bytes, kChunk,
                                                      stored.symbols.data());
            Merge(ops::Element::kBf16, stored.symbols.data(), rest, kChunk, out);
            return whole;
          });
}

bool Register() {
  std::vector<const huffman::Kernels*> all = {&huffman::Scalar()};
  if (huffman::Avx2() != nullptr) all.push_back(huffman::Avx2());
  if (huffman::Avx512() != nullptr) all.push_back(huffman::Avx512());
  for (const huffman::Kernels* kernels : all) {
    const auto add = [&](const char* name, Where where) {
      benchmark::RegisterBenchmark((std::string(name) + "/" + kernels->name).c_str(),
                                   [=](benchmark::State& state) { Bf16(state, *kernels, where); })
          ->UseManualTime();
    };
    add("BM_HuffmanBf16Streaming", Where::kStreaming);
    add("BM_HuffmanBf16Cached", Where::kCached);
    add("BM_HuffmanBf16Tile", Where::kTile);
  }
  benchmark::RegisterBenchmark("BM_HuffmanPlain", Plain)->UseManualTime();
  return true;
}
const bool kRegistered = Register();

}  // namespace
}  // namespace penstock::bench
