// What reading costs, and what the device gives: the bodies of `penstock bench io`.
//
//   BM_Memory              the framework alone: an image in memory, no copy, no device. Bound: none;
//                          the inverse of items/s is the cost of an extent of 8 MiB.
//   BM_IoUring, BM_Pread   this device, direct where the file allows, a file of 512 MiB in the
//   /<reads in flight>     temporary folder, in order, again and again. Bound: the device, as fio
//                          gives it on the same file: `penstock bench io -m FILE` has it in turns.
//   BM_Demanded            a demanded read of 17.5 MB while the trunk keeps a paced device busy.
//                          Bound: (W + its bytes) / rate; p99_ratio and p50_ratio are over it.
//
// The claims: an extent costs microseconds of CPU, io_uring and pread reach the same rate, io_uring
// with less CPU (compare the CPU column of the process time); a demanded read waits for W at most.

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/options.h"
#include "io/queue/measure/demand_latency.h"
#include "io/queue/measure/sequential_reads.h"

namespace penstock::io {
namespace {

constexpr uint64_t kFileBytes = 512 * kMiB;
constexpr uint64_t kRunBytes = 64 * kMiB;

// Random bytes written once and removed at the end; its pages are dropped from the cache.
class BenchFile {
 public:
  BenchFile() {
    path_ = std::filesystem::temp_directory_path() / "penstock_reader_bench_XXXXXX";
    const int fd = mkstemp(path_.data());
    std::mt19937_64 random(1);
    std::vector<uint64_t> block(kMiB / sizeof(uint64_t));
    for (uint64_t at = 0; fd >= 0 && at < kFileBytes; at += kMiB) {
      for (uint64_t& word : block) word = random();
      ok_ = pwrite(fd, block.data(), kMiB, static_cast<off_t>(at)) == static_cast<ssize_t>(kMiB);
      if (!ok_) break;
    }
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
  ~BenchFile() { unlink(path_.c_str()); }

  bool ok() const { return ok_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool ok_ = false;
};

const BenchFile& File() {
  static const BenchFile file;
  return file;
}

void Run(benchmark::State& state, const std::string& engine) {
  if (!File().ok()) return state.SkipWithError("the temporary folder has no 512 MiB");
  IoOptions options;
  options.ioengine = engine;
  options.iodepth = static_cast<uint64_t>(state.range(0));
  auto reads = SequentialReads::Make(options, std::vector{File().path()}, {});
  if (!reads) return state.SkipWithError(reads.error().message.c_str());
  uint64_t bytes = 0;
  for (auto _ : state) {
    const auto cost = (*reads)->Run(0, bytes % kFileBytes, kRunBytes);
    if (!cost) return state.SkipWithError(cost.error().message.c_str());
    bytes += cost->bytes;
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.SetItemsProcessed(static_cast<int64_t>(bytes / SequentialReads::kExtentBytes));
  state.SetLabel((*reads)->reader().Describe());
}

void BM_Memory(benchmark::State& state) { Run(state, "memory"); }
void BM_IoUring(benchmark::State& state) { Run(state, "io_uring"); }
void BM_Pread(benchmark::State& state) { Run(state, "pread"); }

BENCHMARK(BM_Memory)->Arg(8)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(BM_IoUring)->Arg(2)->Arg(8)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(BM_Pread)->Arg(2)->Arg(8)->UseRealTime()->MeasureProcessCPUTime();

void BM_Demanded(benchmark::State& state) {
  DemandOptions options;
  options.demands = 20;
  for (auto _ : state) {
    const auto latency = MeasureDemandLatency(options);
    if (!latency) return state.SkipWithError(latency.error().message.c_str());
    state.counters["p50_ratio"] = latency->PercentileNs(0.5) / latency->bound_ns;
    state.counters["p99_ratio"] = latency->PercentileNs(0.99) / latency->bound_ns;
    ++options.seed;
  }
}
BENCHMARK(BM_Demanded)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock::io
