#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/engines/decorators/delay_line.h"
#include "io/engines/engine.h"
#include "io/file.h"
#include "io/queue/device_meter.h"
#include "io/queue/piece.h"
#include "io/queue/scheduler.h"
#include "io/queue/window.h"
#include "io/reader.h"
#include "runtime/machine/block_device.h"

namespace penstock::io {

// The Reader over any Engine: cuts extents into pieces, lets the Scheduler order them, and repeats
// a piece until it is whole.
//
// Invariants (besides those of Reader):
//  1. A piece waits in the scheduler, or is submitted (with the engine, or in the delay line after
//     -EAGAIN), or is gone. Its ticket and its cookie are one number.
//  2. A request lives until none of its pieces waits or is submitted; only then `done` is called, so
//     its buffer outlives every write of the engine.
//  3. The first error of a request wins; its waiting pieces leave the scheduler.
//  4. The buffer of a failed request is dropped before `done`, and nothing is touched after it: a
//     `done` may be the last act before somebody takes the memory down.
// Threads: one mutex guards requests, scheduler and counters. Engine::Submit is called under it, so
// that reads reach the device in the scheduler's order; `done` is called without it.
class QueuedReader final : public Reader {
 public:
  static Result<std::unique_ptr<Reader>> Make(std::unique_ptr<FileSet> files,
                                              std::unique_ptr<Engine> engine, uint64_t block_bytes,
                                              const Window& window, const CpuSet& cpus = {});
  ~QueuedReader() override { Stop(); }

  size_t BufferBytes(const Extent& extent) const override;
  size_t Alignment() const override { return files_->Alignment(); }
  ReadId Read(const Extent& extent, MutableBuffer buffer, ReadClass read_class, Done done) override;
  void Raise(ReadId id, ReadClass read_class) override;
  bool Cancel(ReadId id) override;
  ReaderCounters counters() const override;
  bool Repace(uint64_t bytes_per_second) override { return engine_->Repace(bytes_per_second); }
  std::vector<DeviceStats> devices() const override;
  std::vector<std::optional<uint64_t>> KernelDeviceBytes() const override;
  void Observe(ReadObserver observer) override;
  std::string Describe() const override;
  void Stop() override;

 private:
  enum class Place : uint8_t { kWaiting, kSubmitted, kGone };
  struct Part {
    Piece piece;
    Place place = Place::kWaiting;
    uint64_t submitted_ns = 0;
  };
  struct Request {
    Extent extent;
    uint32_t device = 0;
    ReadClass read_class = ReadClass::kDemanded;  // As it was asked for.
    uint64_t queued_ns = 0;
    MutableBuffer buffer;
    Done done;
    uint64_t begin = 0;  // File offset of the buffer's first byte.
    std::vector<Part> parts;
    size_t waiting = 0;
    size_t submitted = 0;
    bool started = false;             // Something of it has been submitted.
    const std::byte* view = nullptr;  // Where the engine put the byte at `begin`.
    std::optional<Error> error;
  };
  // What the delay line brings back: a piece to read again, or a request to finish (part kNoPart).
  struct Due {
    ReadId id = 0;
    uint32_t part = 0;
  };
  using Finished = std::vector<std::unique_ptr<Request>>;

  QueuedReader(std::unique_ptr<FileSet> files, std::unique_ptr<Engine> engine, uint64_t block_bytes,
               const Window& window);

  // With the mutex held. `now` is the clock at the begin of the batch.
  EngineRead NextRead(ReadId id, const Request& request, uint32_t part) const;
  void SubmitWhatMay(uint64_t now);
  void Settle(const Completion& completion, uint64_t now, Finished* finished);
  void Repeat(ReadId id, Request* request, uint32_t part, Piece::State state);
  void Retire(ReadId id, Request* request, uint32_t part, uint64_t now, Finished* finished);
  void Fail(ReadId id, Request* request, Error error);
  void FinishIfIdle(ReadId id, Finished* finished);
  Error ErrorOf(const Request& request, const Piece& piece, Piece::State state) const;

  // Without it.
  void OnCompletions(std::span<const Completion> completions);
  void OnDue(std::span<const Due> due);
  static void Deliver(Finished finished);

  const std::unique_ptr<FileSet> files_;
  const uint64_t block_bytes_;
  const Window window_;
  std::vector<std::optional<BlockDevice>> block_devices_;  // By File::device; set once.

  mutable std::mutex mutex_;
  Scheduler scheduler_;
  std::unordered_map<ReadId, std::unique_ptr<Request>> requests_;
  std::vector<EngineRead> batch_;  // Goes to the engine before the mutex is released.
  ReadId next_id_ = 1;
  std::vector<DeviceMeter> meters_;  // By File::device.
  uint64_t retries_ = 0;
  ReadObserver observer_;
  bool stopping_ = false;

  std::mutex stop_mutex_;  // One Stop at a time; taken before mutex_.
  DelayLine<Due> later_;
  std::unique_ptr<Engine> engine_;  // Last: its threads call into everything above.
};

}  // namespace penstock::io
