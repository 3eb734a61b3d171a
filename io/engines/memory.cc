#include "io/engines/memory.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "io/engines/io_thread.h"
#include "io/queue/piece.h"
#include "runtime/machine/cgroup.h"
#include "runtime/memory/region.h"
#include "runtime/process/system_message.h"
#include "runtime/size.h"

namespace penstock::io {
namespace {

constexpr uint64_t kLoadBytes = 4 * kMiB;

Status LoadPiece(const File& file, Piece piece, std::byte* image) {
  for (;;) {
    const ssize_t got =
        pread(file.fd, image + piece.offset(), piece.bytes(), static_cast<off_t>(piece.offset()));
    switch (piece.Advance(got >= 0 ? got : -errno)) {
      case Piece::State::kDone:
        return {};
      case Piece::State::kContinue:
      case Piece::State::kWait:
        break;
      case Piece::State::kEnded:
        return Failed(fmt::format("{} ends at {}, expected {} bytes", file.path, piece.filled_to(),
                                  file.bytes));
      case Piece::State::kFailed:
        return Failed(fmt::format("{} could not be read at offset {}: {}", file.path,
                                  piece.offset(), SystemMessage(piece.error())),
                      piece.error());
    }
  }
}

Result<HugeRegion> LoadImage(const File& file) {
  PENSTOCK_TRY(HugeRegion image, HugeRegion::Map(RoundUp(file.bytes, file.alignment)));
  const Split split = SplitExtent({0, 0, file.bytes}, file.alignment, kLoadBytes);
  for (uint64_t i = 0; i < split.PieceCount(); ++i) {
    PENSTOCK_TRY_VOID(LoadPiece(file, Piece(split, i, file.alignment), image.data()));
  }
  return image;
}

class MemoryEngine final : public Engine {
 public:
  explicit MemoryEngine(const EngineSetup& setup) : setup_(setup) {}
  ~MemoryEngine() override { Stop(); }

  Status Load();
  void Start(Sink sink) override { sink_ = std::move(sink); }
  void Submit(std::span<const EngineRead> reads) override;
  void Stop() override;
  std::string Describe() const override;
  std::optional<Completion> ServeNow(const EngineRead& read) override { return Serve(read); }

 private:
  void Run();
  Completion Serve(const EngineRead& read) const;

  const EngineSetup setup_;
  std::vector<HugeRegion> images_;
  Sink sink_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<EngineRead> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

Status MemoryEngine::Load() {
  uint64_t total = 0;
  for (const File& file : setup_.files->files()) {
    if (file.bytes > (uint64_t{1} << 62) - total) return Refused(file.path + " is too large");
    total += file.bytes;
  }
  const MemoryBudget free = ChooseMemoryBudget(0);
  if (total > free.bytes) {
    return Refused(
        fmt::format("--ioengine memory keeps all files in memory: they have {}, {} leaves "
                    "{}",
                    DescribeSize(total), free.bound_by, DescribeSize(free.bytes)));
  }
  for (const File& file : setup_.files->files()) {
    PENSTOCK_TRY(HugeRegion image, LoadImage(file));
    images_.push_back(std::move(image));
  }
  return StartThread(&thread_, [this] { Run(); });
}

void MemoryEngine::Submit(std::span<const EngineRead> reads) {
  {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), reads.begin(), reads.end());
  }
  wake_.notify_one();
}

Completion MemoryEngine::Serve(const EngineRead& read) const {
  const uint64_t size = (*setup_.files)[read.file].bytes;
  if (read.offset >= size) return {read.cookie, 0, read.data};
  return {read.cookie, static_cast<int64_t>(std::min<uint64_t>(read.bytes, size - read.offset)),
          images_[read.file].data() + read.offset};
}

void MemoryEngine::Run() {
  PrepareIoThread("penstock-memory", setup_.cpus, setup_.notice);
  std::vector<EngineRead> taken;
  std::vector<Completion> batch;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      taken.swap(queue_);
    }
    for (const EngineRead& read : taken) batch.push_back(Serve(read));
    sink_(batch);
    taken.clear();
    batch.clear();
  }
}

void MemoryEngine::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::string MemoryEngine::Describe() const {
  uint64_t total = 0;
  for (const HugeRegion& image : images_) total += image.size();
  return fmt::format("memory, an image of {}", DescribeSize(total));
}

}  // namespace

Result<std::unique_ptr<Engine>> MakeMemoryEngine(const EngineSetup& setup) {
  auto engine = std::make_unique<MemoryEngine>(setup);
  PENSTOCK_TRY_VOID(engine->Load());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace penstock::io
