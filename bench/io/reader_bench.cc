// What reading an extent costs, and what the device gives.
//
//   BM_Memory/<extent KiB>        the framework alone: an image in memory, no copy, no device.
//                                 Bound: none; items/s is reads a second, the inverse its cost.
//   BM_IoUring, BM_Pread          this device, direct where the file allows, a file of 512 MiB in
//   /<extent KiB>/<depth>         the temporary folder, offsets rotating. Bound: the device, as
//                                 fio --direct=1 --bs=4M --iodepth=8 gives it on the same file.
//
// The claims: a read through Reader costs microseconds of CPU, io_uring and pread reach the same
// rate at 4 MiB, io_uring with less CPU (compare the CPU column of the process time).

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/options.h"
#include "io/reader.h"
#include "runtime/memory/region.h"

namespace penstock::io {
namespace {

constexpr uint64_t kFileBytes = 512 * kMiB;

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

// Keeps `depth` extents in flight, as a ring of slots does, until `count` are read.
class Stream {
 public:
  Stream(Reader* reader, HugeRegion* memory, uint64_t extent_bytes, uint64_t depth)
      : reader_(*reader), extent_bytes_(extent_bytes) {
    for (uint64_t i = 0; i < depth; ++i) free_.push_back(memory->data() + i * extent_bytes);
  }

  // False on an error.
  bool Read(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !free_.empty(); });
      std::byte* slot = free_.back();
      free_.pop_back();
      lock.unlock();
      const uint64_t extents = kFileBytes / extent_bytes_;
      const Extent extent{0, next_++ % extents * extent_bytes_, extent_bytes_};
      reader_.Read(extent, MutableBuffer(slot, extent_bytes_, nullptr), ReadClass::kTrunk,
                   [this, slot](Result<BufferRef> result) {
                     const std::lock_guard inner(mutex_);
                     failed_ = failed_ || !result;
                     free_.push_back(slot);
                     changed_.notify_one();
                   });
    }
    return !failed_;
  }

  void Drain(uint64_t depth) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return free_.size() == depth; });
  }

 private:
  Reader& reader_;
  const uint64_t extent_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::byte*> free_;  // Slots of extent_bytes_.
  uint64_t next_ = 0;
  bool failed_ = false;
};

void Run(benchmark::State& state, const std::string& engine) {
  const uint64_t extent_bytes = static_cast<uint64_t>(state.range(0)) * kKiB;
  const uint64_t depth = static_cast<uint64_t>(state.range(1));
  if (!File().ok()) return state.SkipWithError("the temporary folder has no 512 MiB");
  auto memory = HugeRegion::Map(depth * extent_bytes);
  if (!memory) return state.SkipWithError(memory.error().message.c_str());
  memory->Touch();
  const Region region{memory->data(), memory->size()};
  IoOptions options;
  options.ioengine = engine;
  options.iodepth = depth;
  auto reader = MakeReader(options, std::vector{File().path()}, {&region, 1}, {});
  if (!reader) return state.SkipWithError(reader.error().message.c_str());
  Stream stream(reader->get(), &*memory, extent_bytes, depth);
  uint64_t reads = 0;
  for (auto _ : state) {
    if (!stream.Read(depth)) return state.SkipWithError("a read failed");
    reads += depth;
  }
  stream.Drain(depth);
  state.SetBytesProcessed(static_cast<int64_t>(reads * extent_bytes));
  state.SetItemsProcessed(static_cast<int64_t>(reads));
  state.SetLabel((*reader)->Describe());
}

void BM_Memory(benchmark::State& state) { Run(state, "memory"); }
void BM_IoUring(benchmark::State& state) { Run(state, "io_uring"); }
void BM_Pread(benchmark::State& state) { Run(state, "pread"); }

BENCHMARK(BM_Memory)->Args({4096, 8})->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(BM_IoUring)
    ->Args({4096, 2})
    ->Args({4096, 8})
    ->Args({1024, 4})
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK(BM_Pread)
    ->Args({4096, 2})
    ->Args({4096, 8})
    ->Args({1024, 4})
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace penstock::io
