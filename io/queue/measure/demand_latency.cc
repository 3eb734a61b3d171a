#include "io/queue/measure/demand_latency.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/device_stats.h"
#include "io/options.h"
#include "io/reader.h"
#include "runtime/check.h"
#include "runtime/measure/clock.h"
#include "runtime/memory/region.h"

namespace penstock::io {
namespace {

constexpr uint64_t kImageBytes = 64 * kMiB;
constexpr uint64_t kTrunkBytes = 8 * kMiB;
constexpr uint64_t kTrunkReads = 4;  // Beyond what the window holds.
constexpr uint64_t kMostPauseUs = 20'000;
constexpr uint64_t kDemandsPerCalibration = 10;
constexpr Duration kCalibration{10'000'000};

// A file of zeroes without a disk.
class MemoryFile {
 public:
  static Result<MemoryFile> Make(uint64_t bytes) {
    MemoryFile file;
    file.fd_ = memfd_create("penstock-measure", MFD_CLOEXEC);
    if (file.fd_ < 0 || ftruncate(file.fd_, static_cast<off_t>(bytes)) != 0) {
      return Failed("a file in memory could not be made", errno);
    }
    return file;
  }
  MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  MemoryFile() = default;
  int fd_ = -1;
};

class Run {
 public:
  explicit Run(const DemandOptions& options) : options_(options), random_(options.seed) {}
  ~Run() { Stop(); }

  Status Start(const std::string& path) {
    PENSTOCK_TRY(unused_, HugeRegion::Map(kImageBytes));
    IoOptions io;
    io.ioengine = "memory";
    io.direct = "0";
    io.pace = options_.pace;
    io.bs = options_.bs;
    io.iodepth = options_.iodepth;
    PENSTOCK_TRY(reader_, MakeReader(io, std::vector<std::string>{path}, {}, {}));
    const DeviceStats device = reader_->devices().at(0);
    const uint64_t window = std::max(device.window_bytes, 2 * options_.bs.bytes);
    for (uint64_t i = 0; i < window / kTrunkBytes + kTrunkReads; ++i) ReadTrunk();
    return {};
  }

  Status Demand() {
    // A pause in which the trunk has the device for itself again.
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % kMostPauseUs));
    const uint64_t room = kImageBytes - options_.demanded_bytes;
    const Extent extent{0, random_() % room / 4096 * 4096, options_.demanded_bytes};
    uint64_t end = 0;
    const uint64_t start = NowNs(Clock::kWall);
    reader_->Read(extent, View(reader_->BufferBytes(extent)), ReadClass::kDemanded,
                  [&](Result<BufferRef> result) {
                    const uint64_t now = NowNs(Clock::kWall);
                    const std::lock_guard lock(mutex_);
                    if (!result) outcome_ = std::move(result.error());
                    end = now;
                    came_.notify_one();
                  });
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return end != 0; });
    ns_.push_back(end - start);
    return outcome_;
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    if (reader_) reader_->Stop();
  }

  const Reader& reader() const { return *reader_; }
  std::vector<uint64_t> TakeSorted() {
    std::sort(ns_.begin(), ns_.end());
    return std::move(ns_);
  }

 private:
  // The memory engine answers with views of its image: nothing is written here.
  MutableBuffer View(uint64_t bytes) { return MutableBuffer(unused_.data(), bytes, nullptr); }

  void ReadTrunk() {
    const uint64_t at = next_++ % (kImageBytes / kTrunkBytes) * kTrunkBytes;
    reader_->Read({0, at, kTrunkBytes}, View(kTrunkBytes), ReadClass::kTrunk,
                  [this](Result<BufferRef> result) {
                    {
                      const std::lock_guard lock(mutex_);
                      if (stopping_ || !result) return;
                    }
                    ReadTrunk();
                  });
  }

  const DemandOptions& options_;
  std::mt19937_64 random_;
  HugeRegion unused_;  // Address space without pages.
  std::atomic<uint64_t> next_ = 0;
  std::vector<uint64_t> ns_;
  std::mutex mutex_;
  std::condition_variable came_;
  Status outcome_;
  bool stopping_ = false;
  std::unique_ptr<Reader> reader_;  // Last: its threads use everything above.
};

}  // namespace

double DemandLatency::PercentileNs(double q) const {
  PENSTOCK_CHECK(!ns.empty() && q > 0 && q <= 1);
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(ns.size())));
  return static_cast<double>(ns[std::max<size_t>(rank, 1) - 1]);
}

Result<DemandLatency> MeasureDemandLatency(const DemandOptions& options) {
  if (options.demanded_bytes == 0 || options.demanded_bytes > kImageBytes / 2) {
    return Refused(fmt::format("a demanded read has 1 byte to {}, got {}",
                               FormatSize({kImageBytes / 2}),
                               FormatSize({options.demanded_bytes})));
  }
  if (options.pace.empty() || options.demands == 0) {
    return Refused("demanded reads are measured at a --pace, and at least one of them");
  }
  PENSTOCK_TRY(const MemoryFile file, MemoryFile::Make(kImageBytes));
  Run run(options);
  PENSTOCK_TRY_VOID(run.Start(file.path()));
  const uint64_t start = NowNs(Clock::kWall);
  const uint64_t before = run.reader().counters().device_bytes;
  CpuTime busy;
  for (uint64_t i = 0; i < options.demands; ++i) {
    if (i % kDemandsPerCalibration == 0) {
      const CpuTime part = BusyLoop(kCalibration);
      busy.wall_ns += part.wall_ns;
      busy.cpu_ns += part.cpu_ns;
    }
    if (options.go_on && !options.go_on(i, options.demands)) {
      return Cancelled("the measurement was stopped");
    }
    PENSTOCK_TRY_VOID(run.Demand());
  }
  const double seconds = static_cast<double>(NowNs(Clock::kWall) - start) / 1e9;
  const DeviceStats device = run.reader().devices().at(0);
  run.Stop();
  DemandLatency out;
  const auto rate = static_cast<double>(device.bytes_per_second);
  out.window_bytes = std::max(device.window_bytes, 2 * options.bs.bytes);
  out.bytes_per_second = device.bytes_per_second;
  out.bound_ns =
      static_cast<double>(out.window_bytes + RoundUp(options.demanded_bytes, 4096)) * 1e9 / rate;
  out.ns = run.TakeSorted();
  out.cpu_lost = LostShare(busy);
  out.device_share = static_cast<double>(device.device_bytes - before) / seconds / rate;
  return out;
}

}  // namespace penstock::io
