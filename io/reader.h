#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory/buffer.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::io {

using FileId = uint32_t;
inline constexpr uint32_t kNoTag = ~uint32_t{0};

// A range of bytes of one file, as stored: what a tensor, a row block or a stripe is on disk.
struct Extent {
  FileId file = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t tag = kNoTag;  // The caller's own number, for the selectors of --fault; reads ignore it.
};

// The order in which waiting reads go to the device. Demanded reads are submitted at once; the
// classes below it share at most W bytes submitted per device (io/queue/scheduler.h).
enum class ReadClass : uint8_t { kDemanded, kTrunk, kPredicted };

using ReadId = uint64_t;

struct DeviceStats;
struct ReadSpan;

// Totals since the Reader was made. Cheap to copy; taken between steps and subtracted.
struct ReaderCounters {
  uint64_t payload_bytes = 0;  // What was asked for.
  uint64_t device_bytes = 0;   // Rounded out to the file's alignment: what the device must move.
  uint64_t reads = 0;          // Requests handed to the engine, after splitting.
  uint64_t retries = 0;        // Short reads, EINTR and EAGAIN that were continued.
};

// Writable memory that reads will go to, announced once so that an engine can register it.
struct Region {
  std::byte* data = nullptr;
  size_t bytes = 0;
};

// Reads extents into buffers, many at a time, in order of class. The only place that decides what
// goes to the device next.
//
// Invariants:
//  1. `done` is called exactly once for each Read, on an I/O thread (inside Stop for one that Stop
//     drops), never from inside Read itself. It must not throw, block or call Stop.
//  2. A submitted read owns its buffer until its completion, also when cancelled or failed.
//  3. What arrives at `done` is whole: short reads are continued, or the error says how far it got.
//  4. After Stop() returns no `done` will be called any more; every earlier one has returned.
// Threads: Read, Raise and counters may be called from any thread and do not block on I/O.
class Reader {
 public:
  using Done = std::function<void(Result<BufferRef>)>;

  virtual ~Reader() = default;

  // How many bytes a buffer for `extent` must have: its bytes rounded out to the file's alignment.
  // The buffer's address must be a multiple of Alignment().
  virtual size_t BufferBytes(const Extent& extent) const = 0;
  virtual size_t Alignment() const = 0;

  // Queues a read of `extent` into `buffer`; the BufferRef that arrives is exactly the extent's
  // bytes and keeps `buffer`'s owner alive (an engine that serves views may point elsewhere).
  virtual ReadId Read(const Extent& extent, MutableBuffer buffer, ReadClass read_class,
                      Done done) = 0;

  // Lifts a read that still waits to a more urgent class. Does nothing for one already submitted
  // or done.
  virtual void Raise(ReadId id, ReadClass read_class) = 0;

  // Drops a read of which nothing has been submitted yet; its `done` gets kCancelled. False when it
  // is already on its way or done: then it finishes as if nothing had been said.
  virtual bool Cancel(ReadId /*id*/) { return false; }

  virtual ReaderCounters counters() const = 0;

  // Each device behind the files, in the order of File::device (io/device_stats.h). No system call
  // but a look at the clock.
  virtual std::vector<DeviceStats> devices() const;
  // What the kernel counts as read from each of those devices since boot, by everybody on the
  // machine and read ahead included: on a quiet machine, the difference of two calls is what this
  // Reader moved. Nothing for a device that the kernel does not name. Reads a small file each.
  virtual std::vector<std::optional<uint64_t>> KernelDeviceBytes() const { return {}; }
  // Tells of every completed read from now on; an empty function ends it.
  virtual void Observe(std::function<void(const ReadSpan&)> /*observer*/) {}
  // For measurements: from now on as from a device of this rate, 0 for as fast as it goes. False
  // where there was no --pace.
  virtual bool Repace(uint64_t /*bytes_per_second*/) { return false; }
  virtual std::string Describe() const = 0;  // "io_uring, direct, depth 8 x 4 MiB, fixed buffers"

  // Lets reads in flight finish, drops those that wait (their `done` gets kCancelled), joins the
  // threads. Called by the destructor as well. A Read after it is answered with kCancelled at once,
  // in the caller: the one exception to invariants 1 and 4. Not to be called from a `done`.
  virtual void Stop() = 0;
};

struct IoOptions;
class FileSet;

// A Reader of these files. `regions` is the memory that buffers will come from (registered with
// the engine when the limits allow; buffers outside of it work as well) and must outlive the
// Reader. `tag_name` is what --fault calls Extent::tag ("layer").
// Refused: options that cannot work, an engine that this machine forbids. Degradations are told
// in one line each, also by I/O threads until the Reader has stopped.
Result<std::unique_ptr<Reader>> MakeReader(const IoOptions& options, FileSet files,
                                           std::span<const Region> regions, const Notice& notice,
                                           std::string tag_name = "tag");

// The same, opening `paths` first. Who needs the alignment before allocating the regions opens the
// FileSet (io/file.h) and passes it on.
Result<std::unique_ptr<Reader>> MakeReader(const IoOptions& options,
                                           std::span<const std::string> paths,
                                           std::span<const Region> regions, const Notice& notice,
                                           std::string tag_name = "tag");

}  // namespace penstock::io
