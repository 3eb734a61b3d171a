#include "io/engines/pread.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "io/engines/io_thread.h"

namespace penstock::io {
namespace {

constexpr uint64_t kDemandedThreads = 4;
constexpr uint64_t kMostThreads = 64;

class PreadEngine final : public Engine {
 public:
  explicit PreadEngine(const EngineSetup& setup) : setup_(setup) {}
  ~PreadEngine() override { Stop(); }

  Status StartThreads();
  void Start(Sink sink) override { sink_ = std::move(sink); }
  void Submit(std::span<const EngineRead> reads) override;
  void Stop() override;
  std::string Describe() const override {
    return fmt::format("pread, {} threads", threads_.size());
  }

 private:
  void Run(bool first);

  const EngineSetup setup_;
  Sink sink_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<EngineRead> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

Status PreadEngine::StartThreads() {
  const uint64_t wanted = std::max<uint64_t>(setup_.depth, 2) * setup_.files->device_count();
  const uint64_t count = std::min(wanted + kDemandedThreads, kMostThreads);
  for (uint64_t i = 0; i < count; ++i) {
    Status started = StartThread(&threads_.emplace_back(), [this, i] { Run(i == 0); });
    if (started) continue;
    if (i == 0) return started;
    threads_.pop_back();  // Fewer threads read as well, only slower.
    break;
  }
  return {};
}

void PreadEngine::Submit(std::span<const EngineRead> reads) {
  {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), reads.begin(), reads.end());
  }
  if (reads.size() == 1) {
    wake_.notify_one();
  } else {
    wake_.notify_all();
  }
}

void PreadEngine::Run(bool first) {
  PrepareIoThread("penstock-pread", setup_.cpus, first ? setup_.notice : Notice());
  for (;;) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const EngineRead read = queue_.front();
    queue_.pop_front();
    lock.unlock();
    const ssize_t got = pread((*setup_.files)[read.file].fd, read.data, read.bytes,
                              static_cast<off_t>(read.offset));
    const Completion completion{read.cookie, got >= 0 ? got : -errno, read.data};
    sink_({&completion, 1});
  }
}

void PreadEngine::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace

Result<std::unique_ptr<Engine>> MakePreadEngine(const EngineSetup& setup) {
  auto engine = std::make_unique<PreadEngine>(setup);
  PENSTOCK_TRY_VOID(engine->StartThreads());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace penstock::io
