#include "io/engines/decorators/pace.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "io/engines/decorators/delay_line.h"

namespace penstock::io {
namespace {

constexpr uint64_t kLeastRate = 4 * kKiB;
constexpr uint64_t kMostLatencyNs = 60'000'000'000;

class PacedEngine final : public Engine {
 public:
  PacedEngine(std::unique_ptr<Engine> inner, const Pace& pace)
      : pace_(pace),
        line_("penstock-pace", [this](auto batch) { sink_(batch); }),
        inner_(std::move(inner)) {}
  ~PacedEngine() override { Stop(); }

  Status StartLine(const CpuSet& cpus) { return line_.Start(cpus); }
  void Start(Sink sink) override;
  void Submit(std::span<const EngineRead> reads) override;
  void Stop() override;
  std::string Describe() const override;
  bool Repace(uint64_t bytes_per_second) override;

 private:
  using Clock = DelayLine<Completion>::Clock;

  std::optional<Clock::time_point> DueOf(const Completion& completion);
  Clock::time_point DueAfter(Clock::time_point submitted, int64_t result);

  Pace pace_;  // With the mutex.
  Sink sink_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Clock::time_point> submitted_;
  Clock::time_point free_;  // When the device has served what came before.
  DelayLine<Completion> line_;
  std::unique_ptr<Engine> inner_;  // Last: its threads use everything above.
};

void PacedEngine::Start(Sink sink) {
  sink_ = std::move(sink);
  inner_->Start([this](auto batch) {
    for (const Completion& completion : batch) {
      const auto due = DueOf(completion);
      if (due) {
        line_.Hold(completion, *due);
      } else {
        sink_({&completion, 1});
      }
    }
  });
}

bool PacedEngine::Repace(uint64_t bytes_per_second) {
  const std::lock_guard lock(mutex_);
  pace_.bytes_per_second = bytes_per_second;
  return true;
}

// What the engine underneath has at once waits here alone: one thread to wake for a read, not two.
void PacedEngine::Submit(std::span<const EngineRead> reads) {
  const Clock::time_point now = Clock::now();
  size_t served = 0;
  for (; served < reads.size(); ++served) {
    const auto completion = inner_->ServeNow(reads[served]);
    if (!completion) break;
    std::unique_lock lock(mutex_);
    const Clock::time_point due = DueAfter(now, completion->result);
    lock.unlock();
    line_.Hold(*completion, due);
  }
  reads = reads.subspan(served);
  if (reads.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (const EngineRead& read : reads) submitted_[read.cookie] = now;
  }
  inner_->Submit(reads);
}

// Counts from the submission, not from the completion of the engine underneath: what that takes is
// part of the time, and a wake-up that comes late is caught up with by the next read. Nothing: at
// once.
std::optional<PacedEngine::Clock::time_point> PacedEngine::DueOf(const Completion& completion) {
  const std::lock_guard lock(mutex_);
  const auto found = submitted_.find(completion.cookie);
  const Clock::time_point submitted = found->second;
  submitted_.erase(found);
  if (pace_.bytes_per_second == 0) return std::nullopt;
  return DueAfter(submitted, completion.result);
}

// With the mutex.
PacedEngine::Clock::time_point PacedEngine::DueAfter(Clock::time_point submitted, int64_t result) {
  if (pace_.bytes_per_second == 0) return submitted;
  const double bytes = static_cast<double>(std::max<int64_t>(result, 0));
  const auto service = std::chrono::nanoseconds(
      static_cast<int64_t>(bytes * 1e9 / static_cast<double>(pace_.bytes_per_second)));
  free_ = std::max(free_, submitted) + service;
  return free_ + std::chrono::nanoseconds(pace_.latency.ns);
}

void PacedEngine::Stop() {
  inner_->Stop();
  line_.Stop();
}

std::string PacedEngine::Describe() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("{}, paced to {}/s and {}", inner_->Describe(),
                     FormatSize({pace_.bytes_per_second}), FormatDuration(pace_.latency));
}

}  // namespace

Result<Pace> ParsePace(std::string_view text) {
  if (text.empty()) return Pace{};
  const size_t comma = text.find(',');
  const auto rate = ParseSize(text.substr(0, comma));
  if (!rate || rate->bytes < kLeastRate) {
    return Refused(
        fmt::format("--pace is RATE[,LATENCY] with at least 4k a second, such as "
                    "500M,100us, got \"{}\"",
                    text));
  }
  if (comma == std::string_view::npos) return Pace{rate->bytes, {}};
  const auto latency = ParseDuration(text.substr(comma + 1));
  if (!latency || latency->ns > kMostLatencyNs) {
    return Refused(
        fmt::format("--pace takes a latency of at most 1m after the comma, such as "
                    "500M,100us, got \"{}\"",
                    text));
  }
  return Pace{rate->bytes, *latency};
}

Result<std::unique_ptr<Engine>> MakePacedEngine(std::unique_ptr<Engine> inner, const Pace& pace,
                                                const CpuSet& cpus) {
  auto engine = std::make_unique<PacedEngine>(std::move(inner), pace);
  PENSTOCK_TRY_VOID(engine->StartLine(cpus));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace penstock::io
