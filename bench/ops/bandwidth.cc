#include "bench/ops/bandwidth.h"

#include <algorithm>
#include <cstdlib>

#include <sys/mman.h>
#include <time.h>

#include "runtime/measure/streams.h"

namespace penstock::bench {
namespace {

uint8_t* Allocate() {
  constexpr size_t kHugePage = size_t{2} << 20;
  auto* bytes = static_cast<uint8_t*>(std::aligned_alloc(kHugePage, StreamedWeights::kBytes));
  if (bytes == nullptr) std::abort();
  madvise(bytes, StreamedWeights::kBytes, MADV_HUGEPAGE);
  uint64_t state = 1;
  for (size_t i = 0; i < StreamedWeights::kBytes; i += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // As bf16: magnitudes from 2^-31 to 2 and no infinity. As E8M0 scales: what the bytes give.
    const uint64_t word = (state ^ (state >> 29)) & 0xbfffbfffbfffbfffu;
    __builtin_memcpy(bytes + i, &word, sizeof word);
  }
  return bytes;
}

uint8_t* Bytes() {
  static uint8_t* const bytes = Allocate();
  return bytes;
}

}  // namespace

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

StreamedWeights::StreamedWeights() { Bytes(); }

const uint8_t* StreamedWeights::Next(size_t bytes) {
  if (place_ + bytes > kBytes) place_ = 0;
  const uint8_t* slice = Bytes() + place_;
  place_ += (bytes + 63) / 64 * 64;
  return slice;
}

double ReadBandwidth() {
  const auto* values = reinterpret_cast<const float*>(Bytes());
  constexpr size_t kCount = StreamedWeights::kBytes / sizeof(float) / 2;
  double best = 0;
  for (int streams : {1, 4, 8}) {
    const double start = ThreadSeconds();
    benchmark::DoNotOptimize(SumStreams({values, kCount}, streams));
    best = std::max(best, kCount * sizeof(float) / (ThreadSeconds() - start));
  }
  return best;
}

BytesMeter::BytesMeter(benchmark::State& state, size_t bytes_per_iteration)
    : state_(state), bytes_(bytes_per_iteration), read_(ReadBandwidth()), start_(ThreadSeconds()) {}

BytesMeter::~BytesMeter() {
  const double seconds = ThreadSeconds() - start_;
  const double bytes = static_cast<double>(bytes_) * static_cast<double>(state_.iterations());
  state_.counters["bytes_per_second"] = benchmark::Counter(
      bytes / seconds, benchmark::Counter::kDefaults, benchmark::Counter::OneK::kIs1000);
  state_.counters["read"] =
      benchmark::Counter(read_, benchmark::Counter::kDefaults, benchmark::Counter::OneK::kIs1000);
  state_.counters["of_read"] = bytes / seconds / read_;
}

}  // namespace penstock::bench
