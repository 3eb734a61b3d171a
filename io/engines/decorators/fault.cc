#include "io/engines/decorators/fault.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/engines/decorators/delay_line.h"
#include "io/queue/piece.h"

namespace penstock::io {
namespace {

// What the script does to one read.
struct Verdict {
  int sys = 0;
  bool shorten = false;
  std::chrono::nanoseconds hold{0};
};

// What of it is left to do at the completion.
struct Remainder {
  std::chrono::nanoseconds hold{0};
  int64_t most_bytes = 0;
};

class FaultEngine final : public Engine {
 public:
  FaultEngine(std::unique_ptr<Engine> inner, FaultScript script, const FileSet& files)
      : script_(std::move(script)),
        files_(files),
        random_(script_.seed),
        line_("penstock-fault", [this](auto batch) { sink_(batch); }),
        inner_(std::move(inner)) {}
  ~FaultEngine() override { Stop(); }

  Status StartLine(const CpuSet& cpus) { return line_.Start(cpus); }
  void Start(Sink sink) override;
  void Submit(std::span<const EngineRead> reads) override;
  void Stop() override;
  bool Repace(uint64_t bytes_per_second) override { return inner_->Repace(bytes_per_second); }
  std::string Describe() const override {
    return fmt::format("{}, with faults {}", inner_->Describe(), script_.text);
  }

 private:
  Verdict Judge(const EngineRead& read);
  bool Distort(EngineRead* read);
  void OnCompletions(std::span<const Completion> batch);

  const FaultScript script_;
  const FileSet& files_;
  Sink sink_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  uint64_t number_ = 0;  // Reads that came so far.
  std::unordered_map<uint64_t, Remainder> remainders_;
  std::unordered_set<uint64_t> torn_;  // Cookies of reads that were cut last time.
  DelayLine<Completion> line_;
  std::unique_ptr<Engine> inner_;  // Last: its threads use everything above.
};

void FaultEngine::Start(Sink sink) {
  sink_ = std::move(sink);
  inner_->Start([this](auto batch) { OnCompletions(batch); });
}

Verdict FaultEngine::Judge(const EngineRead& read) {
  Verdict verdict;
  ++number_;
  for (const FaultRule& rule : script_.rules) {
    if (!rule.Matches(read, number_)) continue;
    switch (rule.kind) {
      case FaultKind::kShort:
        verdict.shorten = true;
        break;
      case FaultKind::kEio:
        verdict.sys = EIO;
        break;
      case FaultKind::kEagain:
        verdict.sys = EAGAIN;
        break;
      case FaultKind::kEintr:
        verdict.sys = EINTR;
        break;
      case FaultKind::kDelay:
        verdict.hold += std::chrono::nanoseconds(rule.time.ns);
        break;
      case FaultKind::kReorder:
        verdict.hold += std::chrono::nanoseconds(random_() % (rule.time.ns + 1));
        break;
    }
  }
  return verdict;
}

// Applies the script to a read that is about to go; false when it does not go at all.
bool FaultEngine::Distort(EngineRead* read) {
  const Verdict verdict = Judge(*read);
  if (verdict.sys != 0) {
    line_.Hold({read->cookie, -verdict.sys, read->data},
               DelayLine<Completion>::Clock::now() + verdict.hold);
    return false;
  }
  Remainder remainder{verdict.hold, read->bytes};
  // The rest of a read that was cut arrives whole: else a script that cuts every read would never
  // let one end.
  const bool cut = verdict.shorten && torn_.erase(read->cookie) == 0 && read->bytes > 1;
  if (cut) {
    torn_.insert(read->cookie);
    remainder.most_bytes = read->bytes / 2;
    read->bytes = static_cast<uint32_t>(RoundUp(read->bytes / 2, files_[read->file].alignment));
  }
  if (verdict.hold.count() > 0 || cut) remainders_.emplace(read->cookie, remainder);
  return true;
}

void FaultEngine::Submit(std::span<const EngineRead> reads) {
  std::vector<EngineRead> forward;
  {
    const std::lock_guard lock(mutex_);
    for (EngineRead read : reads) {
      if (Distort(&read)) forward.push_back(read);
    }
  }
  if (!forward.empty()) inner_->Submit(forward);
}

void FaultEngine::OnCompletions(std::span<const Completion> batch) {
  std::vector<Completion> now;
  {
    const std::lock_guard lock(mutex_);
    for (Completion completion : batch) {
      const auto found = remainders_.find(completion.cookie);
      if (found == remainders_.end()) {
        now.push_back(completion);
        continue;
      }
      const Remainder remainder = found->second;
      remainders_.erase(found);
      completion.result = std::min(completion.result, remainder.most_bytes);
      if (remainder.hold.count() > 0) {
        line_.Hold(completion, DelayLine<Completion>::Clock::now() + remainder.hold);
      } else {
        now.push_back(completion);
      }
    }
  }
  if (!now.empty()) sink_(now);
}

void FaultEngine::Stop() {
  inner_->Stop();
  line_.Stop();
}

}  // namespace

Result<std::unique_ptr<Engine>> MakeFaultEngine(std::unique_ptr<Engine> inner, FaultScript script,
                                                const FileSet& files, const CpuSet& cpus) {
  auto engine = std::make_unique<FaultEngine>(std::move(inner), std::move(script), files);
  PENSTOCK_TRY_VOID(engine->StartLine(cpus));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace penstock::io
