#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/file.h"
#include "io/reader.h"
#include "runtime/cpu/cpu_list.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::io {

// One read as an engine sees it: at most 2 GiB, aligned as its file wants.
struct EngineRead {
  uint64_t cookie = 0;  // Comes back with the completion; unique among the reads in flight.
  FileId file = 0;
  uint32_t tag = 0;  // Extent::tag, for fault scripts.
  uint64_t offset = 0;
  std::byte* data = nullptr;
  uint32_t bytes = 0;
};

struct Completion {
  uint64_t cookie = 0;
  int64_t result = 0;  // Bytes that arrived (fewer than asked for is normal), or -errno.
  // Where they are: EngineRead::data, or bytes of the engine's own that live as long as it does.
  const std::byte* data = nullptr;
};

// How reads are made: mechanism only. Order, splitting and repetition are the Reader's.
//
// Invariants:
//  1. Each submitted read completes exactly once, on a thread of the engine, never inside Submit.
//  2. Until then its memory may be written; afterwards it is not touched again.
//  3. Stop returns when every submitted read has completed and the sink has returned.
// Threads: Submit may be called from any thread, also from the sink; it queues and returns at once.
// The sink may be called from several threads at a time.
class Engine {
 public:
  using Sink = std::function<void(std::span<const Completion>)>;

  virtual ~Engine() = default;

  virtual void Start(Sink sink) = 0;  // Once, before the first Submit.
  virtual void Submit(std::span<const EngineRead> reads) = 0;
  virtual void Stop() = 0;                   // No Submit from here on. Again: nothing.
  virtual std::string Describe() const = 0;  // "io_uring, fixed buffers and files"

  // The completion of a read that needs no waiting, for whoever holds it back anyway and would rather
  // not wake another thread for it; nothing where reads take time. Between Start and Stop, any thread.
  virtual std::optional<Completion> ServeNow(const EngineRead& /*read*/) { return std::nullopt; }

  // From now on as from a device of this rate, 0 for as fast as it goes; false for an engine that
  // is not paced. Any thread.
  virtual bool Repace(uint64_t /*bytes_per_second*/) { return false; }
};

// What every engine is made from. `files` and the memory of `regions` outlive it.
struct EngineSetup {
  const FileSet* files = nullptr;
  std::span<const Region> regions;
  uint64_t depth = 2;  // Reads below the demanded class that may be in flight at a time.
  CpuSet cpus;         // Of its threads; empty: those inherited.
  Notice notice;
};

}  // namespace penstock::io
