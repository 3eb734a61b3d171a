#include "io/queue/queued_reader.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "runtime/check.h"
#include "runtime/measure/clock.h"
#include "runtime/process/system_message.h"
#include "runtime/size.h"

namespace penstock::io {
namespace {

// A ticket's number: the request above, the piece below. 2^36 requests are enough for years, 2^28
// pieces for a terabyte in blocks of 4 KiB.
constexpr int kPartBits = 28;
constexpr uint32_t kNoPart = std::numeric_limits<uint32_t>::max();

uint64_t CookieOf(ReadId id, uint32_t part) { return id << kPartBits | part; }
ReadId RequestOf(uint64_t cookie) { return cookie >> kPartBits; }
uint32_t PartOf(uint64_t cookie) { return cookie & ((uint64_t{1} << kPartBits) - 1); }

std::chrono::microseconds Backoff(int retries) {
  return std::chrono::microseconds(100) * (1 << std::min(retries, 8));
}

// The device below the first file on it: any of them names the same.
std::vector<std::optional<BlockDevice>> FindDevices(const FileSet& files) {
  std::vector<std::optional<BlockDevice>> devices(files.device_count());
  std::vector<bool> asked(devices.size());
  for (const File& file : files.files()) {
    if (asked[file.device]) continue;
    asked[file.device] = true;
    if (auto found = FindBlockDevice(file.path)) devices[file.device] = std::move(*found);
  }
  return devices;
}

Error Dropped() { return Cancelled("the read was dropped before it reached the device"); }

}  // namespace

Result<std::unique_ptr<Reader>> QueuedReader::Make(std::unique_ptr<FileSet> files,
                                                   std::unique_ptr<Engine> engine,
                                                   uint64_t block_bytes, const Window& window,
                                                   const CpuSet& cpus) {
  std::unique_ptr<QueuedReader> reader(
      new QueuedReader(std::move(files), std::move(engine), block_bytes, window));
  PENSTOCK_TRY_VOID(reader->later_.Start(cpus));
  reader->engine_->Start([reader = reader.get()](auto batch) { reader->OnCompletions(batch); });
  return std::unique_ptr<Reader>(std::move(reader));
}

QueuedReader::QueuedReader(std::unique_ptr<FileSet> files, std::unique_ptr<Engine> engine,
                           uint64_t block_bytes, const Window& window)
    : files_(std::move(files)),
      block_bytes_(block_bytes),
      window_(window),
      block_devices_(FindDevices(*files_)),
      scheduler_(window.bytes, files_->device_count()),
      later_("penstock-retry", [this](auto due) { OnDue(due); }),
      engine_(std::move(engine)) {
  const uint64_t now = NowNs(Clock::kWall);
  for (size_t device = 0; device < block_devices_.size(); ++device) {
    const auto& known = block_devices_[device];
    meters_.emplace_back(known ? known->name : fmt::format("device {}", device), window_, now);
  }
}

size_t QueuedReader::BufferBytes(const Extent& extent) const {
  return files_->RoundedBytes(extent);
}

ReadId QueuedReader::Read(const Extent& extent, MutableBuffer buffer, ReadClass read_class,
                          Done done) {
  PENSTOCK_CHECK(extent.file < files_->size());
  const File& file = (*files_)[extent.file];
  const Split split = SplitExtent(extent, file.alignment, block_bytes_);
  PENSTOCK_CHECK(buffer.size() >= split.end - split.begin);
  PENSTOCK_CHECK(split.begin == split.end ||
                 reinterpret_cast<uintptr_t>(buffer.data()) % file.alignment == 0);
  PENSTOCK_CHECK(split.PieceCount() < uint64_t{1} << kPartBits);
  auto request = std::make_unique<Request>();
  request->extent = extent;
  request->device = file.device;
  request->read_class = read_class;
  request->begin = split.begin;
  request->view = buffer.data();
  request->buffer = std::move(buffer);
  request->parts.resize(split.PieceCount());
  request->waiting = request->parts.size();
  for (size_t i = 0; i < request->parts.size(); ++i) {
    request->parts[i].piece = Piece(split, i, file.alignment);
  }

  // Before the lock: waiting for it is part of the time that this read takes.
  const uint64_t now = request->queued_ns = NowNs(Clock::kWall);
  std::unique_lock lock(mutex_);
  const ReadId id = next_id_++;
  if (stopping_) {
    lock.unlock();
    request.reset();
    done(Dropped());
    return id;
  }
  request->done = std::move(done);
  for (uint32_t i = 0; i < request->parts.size(); ++i) {
    const Piece& piece = request->parts[i].piece;
    scheduler_.Queue({CookieOf(id, i), file.device, piece.end() - piece.begin()}, read_class);
  }
  requests_.emplace(id, std::move(request));
  SubmitWhatMay(now);
  return id;
}

void QueuedReader::Raise(ReadId id, ReadClass read_class) {
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  const auto& parts = found->second->parts;
  for (uint32_t i = 0; i < parts.size(); ++i) {
    if (parts[i].place == Place::kWaiting) scheduler_.Raise(CookieOf(id, i), read_class);
  }
  SubmitWhatMay(NowNs(Clock::kWall));
}

bool QueuedReader::Cancel(ReadId id) {
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(id);
  if (found == requests_.end()) return false;
  Request& request = *found->second;
  if (request.started || request.error) return false;
  Fail(id, &request, Dropped());
  later_.Hold({id, kNoPart}, DelayLine<Due>::Clock::now());
  SubmitWhatMay(NowNs(Clock::kWall));  // It may have stood in front of a smaller one.
  return true;
}

ReaderCounters QueuedReader::counters() const {
  const std::lock_guard lock(mutex_);
  ReaderCounters counters;
  counters.retries = retries_;
  for (const DeviceMeter& meter : meters_) meter.AddTo(&counters);
  return counters;
}

std::vector<DeviceStats> QueuedReader::devices() const {
  std::vector<DeviceStats> stats;
  const std::lock_guard lock(mutex_);
  const uint64_t now = NowNs(Clock::kWall);
  for (const DeviceMeter& meter : meters_) stats.push_back(meter.At(now));
  return stats;
}

std::vector<std::optional<uint64_t>> QueuedReader::KernelDeviceBytes() const {
  std::vector<std::optional<uint64_t>> bytes(block_devices_.size());
  for (size_t device = 0; device < bytes.size(); ++device) {
    if (!block_devices_[device]) continue;
    if (const auto counted = ReadDeviceBytes(*block_devices_[device])) bytes[device] = *counted;
  }
  return bytes;
}

void QueuedReader::Observe(ReadObserver observer) {
  const std::lock_guard lock(mutex_);
  observer_ = std::move(observer);
}

std::string QueuedReader::Describe() const {
  const size_t direct = files_->direct_count();
  const std::string how = direct == files_->size() ? "direct"
                          : direct == 0
                              ? "through the page cache"
                              : fmt::format("direct for {} of {} files", direct, files_->size());
  const std::string rate = window_.bytes_per_second == 0
                               ? ""
                               : fmt::format(" of a device of {:.2f} GB/s",
                                             static_cast<double>(window_.bytes_per_second) / 1e9);
  return fmt::format("{}; {}, reads of {}, {} in flight{}", engine_->Describe(), how,
                     FormatSize({block_bytes_}),
                     FormatSize({std::max(window_.bytes, 2 * block_bytes_)}), rate);
}

EngineRead QueuedReader::NextRead(ReadId id, const Request& request, uint32_t part) const {
  const Piece& piece = request.parts[part].piece;
  EngineRead read;
  read.cookie = CookieOf(id, part);
  read.file = request.extent.file;
  read.tag = request.extent.tag;
  read.offset = piece.offset();
  read.data = request.buffer.data() + (piece.offset() - request.begin);
  read.bytes = static_cast<uint32_t>(piece.bytes());
  return read;
}

void QueuedReader::SubmitWhatMay(uint64_t now) {
  while (const auto ticket = scheduler_.Next()) {
    const ReadId id = RequestOf(ticket->id);
    Request& request = *requests_.at(id);
    DeviceMeter& meter = meters_[request.device];
    if (!request.started) meter.Start(request.extent.bytes);
    meter.Submit(now, ticket->bytes);
    request.started = true;
    Part& part = request.parts[PartOf(ticket->id)];
    part.place = Place::kSubmitted;
    part.submitted_ns = std::max(now, request.queued_ns);  // The clock was read before the lock.
    --request.waiting;
    ++request.submitted;
    batch_.push_back(NextRead(id, request, PartOf(ticket->id)));
  }
  for (uint32_t device = 0; device < meters_.size(); ++device) {
    meters_[device].Hold(now, scheduler_.Waits(device));
  }
  if (batch_.empty()) return;
  engine_->Submit(batch_);
  batch_.clear();
}

void QueuedReader::OnCompletions(std::span<const Completion> completions) {
  Finished finished;
  {
    const uint64_t now = NowNs(Clock::kWall);
    const std::lock_guard lock(mutex_);
    for (const Completion& completion : completions) Settle(completion, now, &finished);
    SubmitWhatMay(now);  // Before any `done`: the device should not wait for them.
  }
  Deliver(std::move(finished));
}

void QueuedReader::Settle(const Completion& completion, uint64_t now, Finished* finished) {
  const ReadId id = RequestOf(completion.cookie);
  const uint32_t part = PartOf(completion.cookie);
  Request& request = *requests_.at(id);
  Piece& piece = request.parts[part].piece;
  if (completion.result > 0) request.view = completion.data - (piece.offset() - request.begin);
  const Piece::State state = piece.Advance(completion.result);
  switch (state) {
    case Piece::State::kDone:
      break;
    case Piece::State::kContinue:
    case Piece::State::kWait:
      if (!request.error && !stopping_) return Repeat(id, &request, part, state);
      Fail(id, &request, Dropped());
      break;
    case Piece::State::kEnded:
    case Piece::State::kFailed:
      Fail(id, &request, ErrorOf(request, piece, state));
      break;
  }
  Retire(id, &request, part, now, finished);
}

void QueuedReader::Repeat(ReadId id, Request* request, uint32_t part, Piece::State state) {
  ++retries_;
  if (state == Piece::State::kContinue) {
    batch_.push_back(NextRead(id, *request, part));
  } else {
    later_.Hold({id, part},
                DelayLine<Due>::Clock::now() + Backoff(request->parts[part].piece.retries()));
  }
}

void QueuedReader::OnDue(std::span<const Due> due) {
  Finished finished;
  {
    const uint64_t now = NowNs(Clock::kWall);
    const std::lock_guard lock(mutex_);
    for (const auto [id, part] : due) {
      const auto found = requests_.find(id);
      if (found == requests_.end()) continue;  // Cancelled, and finished by Stop meanwhile.
      Request& request = *found->second;
      if (part == kNoPart) {
        FinishIfIdle(id, &finished);
      } else if (request.error || stopping_) {
        Fail(id, &request, Dropped());
        Retire(id, &request, part, now, &finished);
      } else {
        batch_.push_back(NextRead(id, request, part));
      }
    }
    SubmitWhatMay(now);
  }
  Deliver(std::move(finished));
}

void QueuedReader::Retire(ReadId id, Request* request, uint32_t part, uint64_t now,
                          Finished* finished) {
  Part& retired = request->parts[part];
  const Piece& piece = retired.piece;
  scheduler_.Complete(CookieOf(id, part));
  retired.place = Place::kGone;
  --request->submitted;
  DeviceMeter& meter = meters_[request->device];
  meter.Complete(now, piece.end() - piece.begin());
  if (observer_) {
    observer_({.device = request->device,
               .file = request->extent.file,
               .tag = request->extent.tag,
               .read_class = request->read_class,
               .bytes = piece.filled_to() - piece.begin(),
               .queued_ns = request->queued_ns,
               .submitted_ns = retired.submitted_ns,
               .completed_ns = now,
               .in_flight_bytes = meter.in_flight_bytes()});
  }
  const bool whole = request->waiting == 0 && request->submitted == 0 && !request->error;
  if (whole) meter.AddLatency(request->read_class, now - request->queued_ns);
  FinishIfIdle(id, finished);
}

void QueuedReader::Fail(ReadId id, Request* request, Error error) {
  if (request->error) return;
  request->error = std::move(error);
  for (uint32_t i = 0; i < request->parts.size() && request->waiting > 0; ++i) {
    if (request->parts[i].place != Place::kWaiting) continue;
    scheduler_.Cancel(CookieOf(id, i));
    request->parts[i].place = Place::kGone;
    --request->waiting;
  }
}

void QueuedReader::FinishIfIdle(ReadId id, Finished* finished) {
  const auto found = requests_.find(id);
  if (found->second->waiting > 0 || found->second->submitted > 0) return;
  finished->push_back(std::move(found->second));
  requests_.erase(found);
}

Error QueuedReader::ErrorOf(const Request& request, const Piece& piece, Piece::State state) const {
  const File& file = (*files_)[request.extent.file];
  if (state == Piece::State::kEnded) {
    // A piece that lies behind the end got nothing and cannot tell where that is.
    struct stat facts = {};
    const bool known = fstat(file.fd, &facts) == 0;
    const uint64_t end = known ? std::min(piece.filled_to(), static_cast<uint64_t>(facts.st_size))
                               : piece.filled_to();
    return Failed(fmt::format("{} ends at byte {}, expected {} bytes from offset {} on", file.path,
                              end, request.extent.bytes, request.extent.offset));
  }
  const std::string reason = SystemMessage(piece.error());
  return Failed(fmt::format("{}: reading {} bytes at offset {} failed: {}", file.path,
                            piece.bytes(), piece.offset(), reason),
                piece.error());
}

void QueuedReader::Deliver(Finished finished) {
  for (std::unique_ptr<Request>& request : finished) {
    const Done done = std::move(request->done);
    if (request->error) {
      Error error = std::move(*request->error);
      request.reset();
      done(std::move(error));
    } else {
      const Extent& extent = request->extent;
      const std::byte* data = request->view + (extent.offset - request->begin);
      BufferRef bytes(data, extent.bytes, std::move(request->buffer).Freeze().owner());
      request.reset();
      done(std::move(bytes));
    }
  }
}

void QueuedReader::Stop() {
  const std::lock_guard one_at_a_time(stop_mutex_);
  Finished finished;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    std::vector<ReadId> ids;
    for (const auto& [id, request] : requests_) {
      if (request->waiting > 0) Fail(id, request.get(), Dropped());
      ids.push_back(id);
    }
    for (const ReadId id : ids) FinishIfIdle(id, &finished);
  }
  Deliver(std::move(finished));
  engine_->Stop();
  later_.Stop();
  PENSTOCK_CHECK(requests_.empty());
}

}  // namespace penstock::io
