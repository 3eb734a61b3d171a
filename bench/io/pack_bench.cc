// What checking a pack costs the reader.
//
//   BM_CheckStripe/<elements of a chunk>   front and every chunk of a stripe of 64 MiB, codec raw.
//   BM_CheckInCache                        the same for 256 KiB, again and again: what a tile costs
//                                          that was just read by somebody else.
//   BM_ReadMemory                          64 MiB read once (memchr for a byte that is not there):
//                                          the bound of the first.
//   BM_ParseManifest                       pack.json of 14,000 stripes.
//
// The claim: checking is several times faster than any device delivers, and opening a pack takes
// milliseconds. Compare lines of one run, --benchmark_repetitions=9
// --benchmark_enable_random_interleaving=true, medians.

#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "io/pack.h"
#include "runtime/check.h"

namespace penstock::io {
namespace {

constexpr uint8_t kBf16 = 1;

struct OneStripe {
  OneStripe(uint64_t bytes, uint32_t chunk_elements) : raw(bytes) {
    uint64_t state = 1;
    for (std::byte& byte : raw) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::byte>((state >> 33) | 1);  // Never 0.
    }
    stripe = builder.BuildRaw(kBf16, raw, chunk_elements);
    manifest.tensors = {{"t", kBf16, bytes / 2}};
    manifest.stripes = {{.elements = bytes / 2,
                         .raw_bytes = bytes,
                         .stored_bytes = stripe.stored.size(),
                         .stored_sum = stripe.stored_sum}};
  }
  void Check() const {
    const auto view = StripeView::Parse(stripe.stored, manifest, 0);
    PENSTOCK_CHECK(view);
    for (size_t i = 0; i < view->chunks(); ++i) PENSTOCK_CHECK(view->CheckChunk(i));
  }

  std::vector<std::byte> raw;
  StripeBuilder builder;
  EncodedStripe stripe;
  PackManifest manifest;
};

void Bytes(benchmark::State& state, uint64_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}

void BM_CheckStripe(benchmark::State& state) {
  const OneStripe one(64 * kMiB, static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) one.Check();
  Bytes(state, one.stripe.stored.size());
}
BENCHMARK(BM_CheckStripe)->Arg(4096)->Arg(65536);

void BM_CheckInCache(benchmark::State& state) {
  const OneStripe one(256 * kKiB, 4096);
  for (auto _ : state) one.Check();
  Bytes(state, one.stripe.stored.size());
}
BENCHMARK(BM_CheckInCache);

void BM_ReadMemory(benchmark::State& state) {
  const OneStripe one(64 * kMiB, 65536);
  for (auto _ : state) benchmark::DoNotOptimize(std::memchr(one.raw.data(), 0, one.raw.size()));
  Bytes(state, one.raw.size());
}
BENCHMARK(BM_ReadMemory);

void BM_ParseManifest(benchmark::State& state) {
  constexpr uint64_t kStripes = 14000;
  PackManifest manifest;
  manifest.parameters.identity = std::string(32, '0');
  manifest.parameters.stripe_bytes = 8 * kMiB;
  for (uint32_t i = 0; i < kStripes; ++i) {
    const uint64_t elements = 4 * kMiB;
    const uint32_t tensor = i / 8;
    if (i % 8 == 0) manifest.tensors.push_back({"layers." + std::to_string(i) + ".w", kBf16, 0});
    manifest.stripes.push_back({.tensor = tensor,
                                .codec = 1,
                                .first = manifest.tensors[tensor].elements,
                                .elements = elements,
                                .raw_bytes = 2 * elements,
                                .offset = manifest.file_bytes,
                                .stored_bytes = 5 * kMiB,
                                .stored_sum = i * 0x9e3779b97f4a7c15u,
                                .raw_sum = ~uint64_t{i}});
    manifest.tensors[tensor].elements += elements;
    manifest.file_bytes += 5 * kMiB;
  }
  const std::string json = manifest.ToJson();
  for (auto _ : state) PENSTOCK_CHECK(PackManifest::Parse(json, "pack.json"));
  Bytes(state, json.size());
}
BENCHMARK(BM_ParseManifest)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock::io
