#pragma once

#include <cstddef>
#include <cstdint>

#include <benchmark/benchmark.h>

// What a kernel is measured against: the rate at which one thread of this machine reads memory,
// taken in the same process right before the kernel runs, and weights that no cache holds.
namespace penstock::bench {

// Seconds of processor time of this thread: on a shared machine the wall clock measures others.
double ThreadSeconds();

// Random bytes, larger than the caches, on 2 MiB pages where the machine gives them, as the buffers
// that weights are read into. One buffer for the process.
class StreamedWeights {
 public:
  static constexpr size_t kBytes = size_t{320} << 20;
  StreamedWeights();
  // The next `bytes` (64-byte aligned), in rotation: a slice returns when all others were used.
  const uint8_t* Next(size_t bytes);

 private:
  size_t place_ = 0;
};

// Bytes a second that this thread reads now: the best of 1, 4 and 8 streams, because one linear
// stream reports up to 1.8 times too little.
double ReadBandwidth();

// Times a benchmark's loop and reports, when it ends, bytes a second (`bytes_per_second`), the read
// bandwidth measured just before (`read`), and their quotient (`of_read`).
class BytesMeter {
 public:
  BytesMeter(benchmark::State& state, size_t bytes_per_iteration);
  ~BytesMeter();
  BytesMeter(const BytesMeter&) = delete;
  BytesMeter& operator=(const BytesMeter&) = delete;

 private:
  benchmark::State& state_;
  size_t bytes_;
  double read_;
  double start_;
};

}  // namespace penstock::bench
