#include "io/queue/window.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "io/engines/make.h"
#include "io/queue/piece.h"
#include "runtime/check.h"
#include "runtime/cpu/affinity.h"
#include "runtime/measure/clock.h"
#include "runtime/measure/statistics.h"
#include "runtime/memory/region.h"

namespace penstock::io {
namespace {

constexpr uint64_t kRounds = 5;
constexpr uint64_t kMostReads = 256;
// A completion may wait that long for its thread when every core computes.
constexpr double kRefillSeconds = 0.001;

// Keeps a number of reads in flight and counts what they bring.
class Probe {
 public:
  Probe(Engine& engine, const FileSet& files, uint32_t device, uint64_t block_bytes)
      : engine_(engine), block_bytes_(block_bytes) {
    for (FileId id = 0; id < files.size(); ++id) {
      const File& file = files[id];
      const uint64_t blocks = file.bytes / block_bytes;
      if (!file.direct || file.device != device || blocks == 0) continue;
      blocks_ += blocks;
      ends_.emplace(blocks_, id);
    }
  }

  Status Start() {
    if (blocks_ == 0) return Refused("no file is as long as one read");
    PENSTOCK_TRY(memory_, HugeRegion::Map(2 * block_bytes_));
    memory_.Touch();
    next_ = NowNs(Clock::kWall) % blocks_;
    engine_.Start([this](auto batch) { OnCompletions(batch); });
    return {};
  }

  // Bytes a second with `reads` in flight, over `span` from the first completion on that leaves no
  // more of them. They stay in flight for the next call.
  Result<double> Rate(uint64_t reads, uint64_t span_ns) {
    std::unique_lock lock(mutex_);
    target_ = reads;
    span_ns_ = span_ns;
    first_ = last_ = counted_ = 0;
    over_ = false;
    Refill();
    changed_.wait(lock, [this] { return over_ || failed_; });
    if (failed_) return Failed("a read failed");
    return static_cast<double>(counted_) * 1e9 / static_cast<double>(last_ - first_);
  }

  void Drain() {
    std::unique_lock lock(mutex_);
    target_ = 0;
    changed_.wait(lock, [this] { return in_flight_ == 0; });
  }

 private:
  EngineRead NextRead() {
    const uint64_t block = next_++ % blocks_;
    const auto place = ends_.upper_bound(block);
    const uint64_t begin = place == ends_.begin() ? 0 : std::prev(place)->first;
    EngineRead read;
    read.cookie = next_;
    read.file = place->second;
    read.offset = (block - begin) * block_bytes_;
    // Nobody looks at what arrives, so that two reads may share their memory.
    read.data = memory_.data() + next_ % 2 * block_bytes_;
    read.bytes = static_cast<uint32_t>(block_bytes_);
    return read;
  }

  void Refill() {
    std::vector<EngineRead> batch;
    for (; in_flight_ < target_ && !failed_; ++in_flight_) batch.push_back(NextRead());
    if (!batch.empty()) engine_.Submit(batch);
  }

  void OnCompletions(std::span<const Completion> completions) {
    const std::lock_guard lock(mutex_);
    const uint64_t now = NowNs(Clock::kWall);
    for (const Completion& completion : completions) {
      failed_ = failed_ || completion.result != static_cast<int64_t>(block_bytes_);
    }
    in_flight_ -= completions.size();
    if (first_ == 0) {
      if (in_flight_ <= target_) first_ = now;
    } else if (!over_ && now > first_) {
      counted_ += completions.size() * block_bytes_;
      last_ = now;
      over_ = now - first_ >= span_ns_;
    }
    Refill();
    if (over_ || in_flight_ == 0) changed_.notify_one();
  }

  Engine& engine_;
  const uint64_t block_bytes_;
  std::map<uint64_t, FileId> ends_;  // The first block behind a file, counted over all of them.
  uint64_t blocks_ = 0;
  HugeRegion memory_;

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0;
  uint64_t in_flight_ = 0;
  uint64_t target_ = 0;            // That many should be.
  uint64_t first_ = 0, last_ = 0;  // Completions of this sample.
  uint64_t counted_ = 0;           // Bytes after the first.
  uint64_t span_ns_ = 0;
  bool over_ = false;
  bool failed_ = false;
};

Result<Window> MeasureStarted(Probe& probe, uint64_t block_bytes, Duration budget) {
  std::vector<uint64_t> tries;
  for (uint64_t reads = 2; reads <= kMostReads; reads *= 2) {
    if (reads > 2 && reads * block_bytes > kMostWindowBytes) break;
    tries.push_back(reads);
  }
  const uint64_t start = NowNs(Clock::kWall);
  const uint64_t span = budget.ns / (tries.size() * kRounds + 1);
  PENSTOCK_TRY(const double first, probe.Rate(2, span));
  // What takes much longer than a sample to come would only show how late it comes.
  const double most =
      std::max(2 * first * static_cast<double>(span) / 1e9, static_cast<double>(2 * block_bytes));
  std::erase_if(tries,
                [&](uint64_t reads) { return static_cast<double>(reads * block_bytes) > most; });
  std::vector<std::vector<double>> rounds;
  while (rounds.size() < kRounds && NowNs(Clock::kWall) - start < budget.ns) {
    std::vector<double>& rates = rounds.emplace_back(tries.size());
    for (size_t i = 0; i < tries.size(); ++i) {
      const size_t at = (rounds.size() + i) % tries.size();
      PENSTOCK_TRY(rates[at], probe.Rate(tries[at], span));
    }
  }
  if (rounds.empty()) return Window{2 * block_bytes, static_cast<uint64_t>(first)};
  const SufficientReads chosen = SmallestSufficient(tries, rounds);
  return Window{chosen.reads * block_bytes, static_cast<uint64_t>(chosen.bytes_per_second)};
}

// The device with most bytes in direct files, if they are enough to measure.
Result<uint32_t> MeasurableDevice(const FileSet& files) {
  std::map<uint32_t, uint64_t> bytes;
  for (const File& file : files.files()) {
    if (file.direct) bytes[file.device] += file.bytes;
  }
  const auto most = std::max_element(bytes.begin(), bytes.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  if (most == bytes.end() || most->second < kLeastMeasuredBytes) return Failed("too few bytes");
  return most->first;
}

Result<Window> AutomaticWindow(const IoOptions& options, const Pace& pace, const FileSet& files) {
  if (pace.bytes_per_second > 0) return WindowOfPace(pace, options.bs.bytes);
  const auto device = MeasurableDevice(files);
  if (options.ioengine == "memory" || !device) return Window{};
  IoOptions plain = options;
  plain.fault.clear();
  EngineSetup setup;
  setup.files = &files;
  if (!options.cpus_io.empty()) {
    PENSTOCK_TRY(const CpuSet allowed, AllowedCpus());
    PENSTOCK_TRY(setup.cpus, ChooseCpus("--cpus-io", options.cpus_io, allowed));
  }
  setup.depth = std::clamp<uint64_t>(kMostWindowBytes / options.bs.bytes, 2, kMostReads);
  PENSTOCK_TRY(std::unique_ptr<Engine> engine, MakeEngine(plain, setup, ""));
  const auto measured = MeasureWindow(*engine, files, *device, options.bs.bytes, kWindowBudget);
  return measured ? *measured : Window{};
}

}  // namespace

SufficientReads SmallestSufficient(std::span<const uint64_t> reads,
                                   std::span<const std::vector<double>> rounds) {
  PENSTOCK_CHECK(!reads.empty() && !rounds.empty());
  const auto always_beaten_by = [&](size_t i, size_t j) {
    return std::all_of(rounds.begin(), rounds.end(), [&](const std::vector<double>& rates) {
      return rates[i] < kWindowShare * rates[j];
    });
  };
  const auto enough = [&](size_t i) {
    for (size_t j = i + 1; j < reads.size(); ++j) {
      if (always_beaten_by(i, j)) return false;
    }
    return true;
  };
  size_t chosen = 0;
  while (!enough(chosen)) ++chosen;
  std::vector<double> best;
  for (const auto& rates : rounds) best.push_back(*std::max_element(rates.begin(), rates.end()));
  return {reads[chosen], Median(best)};
}

Window WindowOfPace(const Pace& pace, uint64_t block_bytes) {
  const auto rate = static_cast<double>(pace.bytes_per_second);
  const auto block = static_cast<double>(block_bytes);
  const double seconds = static_cast<double>(pace.latency.ns) / 1e9 + kRefillSeconds;
  const double reads = std::ceil(1 + rate * seconds / block);
  const double most = std::max(2.0, std::floor(static_cast<double>(kMostWindowBytes) / block));
  return {static_cast<uint64_t>(std::clamp(reads, 2.0, most)) * block_bytes, pace.bytes_per_second};
}

Result<Window> MeasureWindow(Engine& engine, const FileSet& files, uint32_t device,
                             uint64_t block_bytes, Duration budget) {
  Probe probe(engine, files, device, block_bytes);
  PENSTOCK_TRY_VOID(probe.Start());
  const auto window = MeasureStarted(probe, block_bytes, budget);
  probe.Drain();
  engine.Stop();
  return window;
}

Result<Window> ChooseWindow(const IoOptions& options, const FileSet& files) {
  PENSTOCK_TRY(const Pace pace, ParsePace(options.pace));
  const uint64_t depth_bytes = options.iodepth * options.bs.bytes;
  if (options.window == "auto") {
    if (depth_bytes == 0) return AutomaticWindow(options, pace, files);
    return Window{depth_bytes, pace.bytes_per_second};
  }
  const auto size = ParseSize(options.window);
  if (!size || size->bytes < 4 * kKiB || size->bytes > kGiB) {
    return Refused(
        fmt::format("--window is auto or a size from 4k to 1G, got \"{}\"", options.window));
  }
  return Window{depth_bytes > 0 ? std::min(size->bytes, depth_bytes) : size->bytes,
                pace.bytes_per_second};
}

}  // namespace penstock::io
