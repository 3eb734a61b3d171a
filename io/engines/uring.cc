#include "io/engines/uring.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/engines/io_thread.h"
#include "io/engines/kernel_write.h"
#include "runtime/check.h"
#include "runtime/process/system_message.h"
#include "runtime/small_file.h"

namespace penstock::io {
namespace {

constexpr unsigned kSubmissionEntries = 128;
// Reads with the kernel at a time. More wait in the engine: only a burst of demanded reads can come
// this far, the classes below are bounded by the scheduler.
constexpr unsigned kMostInFlight = 1024;
constexpr size_t kChunkBytes = size_t{1} << 30;  // The kernel registers no larger buffer.
constexpr uint64_t kWakeUp = UINT64_MAX;         // user_data of the eventfd's read.

// A part of a region, registered under `index`.
struct FixedBuffer {
  const std::byte* begin;
  const std::byte* end;
  int index;
};

// Makes the ring, disabled, so that it can be set up here and used by the engine's thread alone.
// The two flags save interrupting that thread; kernels before 6.1 do not know them.
int MakeRing(io_uring* ring) {
  int result = 0;
  for (const unsigned extra : {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0u}) {
    io_uring_params params = {};
    params.flags = IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | extra;
    params.cq_entries = 2 * kMostInFlight;
    result = io_uring_queue_init_params(kSubmissionEntries, ring, &params);
    if (result != -EINVAL) break;
  }
  return result;
}

// Gives the ring to the calling thread. liburing 2.3 declares a function for it and exports none.
int EnableRing(io_uring* ring) {
  const long result =
      syscall(SYS_io_uring_register, ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  return result < 0 ? -errno : 0;
}

// Sends one operation through a ring of its own, by every call that the engine needs: a filter may
// allow io_uring_setup and forbid the rest. 0 or -errno.
int ProbeRing() {
  io_uring ring;
  int result = io_uring_queue_init(2, &ring, IORING_SETUP_R_DISABLED);
  if (result < 0) return result;
  result = EnableRing(&ring);
  if (result == 0) {
    io_uring_prep_nop(io_uring_get_sqe(&ring));
    result = io_uring_submit_and_wait(&ring, 1);
  }
  io_uring_queue_exit(&ring);
  return std::min(result, 0);
}

class UringEngine final : public Engine {
 public:
  explicit UringEngine(const EngineSetup& setup) : setup_(setup) {}
  ~UringEngine() override;

  Status SetUp(const UringRegistration& registration);
  void Start(Sink sink) override { sink_ = std::move(sink); }
  void Submit(std::span<const EngineRead> reads) override;
  void Stop() override;
  std::string Describe() const override;

 private:
  void Register(const UringRegistration& registration);
  int RegisterBuffers(const UringRegistration& registration);
  int RegisterFiles(const UringRegistration& registration);
  const FixedBuffer* FindFixed(const EngineRead& read) const;

  // Everything below runs on the engine's thread.
  void Run();
  bool TakeQueue();
  bool MaySleep();
  void WakeUp();
  void ArmWakeUp();
  void Prepare();
  void PrepareRead(io_uring_sqe* sqe, unsigned slot);
  void Enter();
  void Break(int sys);
  void Reap();
  void Finish(unsigned slot, int result);

  const EngineSetup setup_;
  Sink sink_;
  io_uring ring_ = {};
  bool has_ring_ = false;
  int wake_fd_ = -1;
  std::vector<FixedBuffer> fixed_buffers_;  // By address.
  bool fixed_files_ = false;

  std::mutex mutex_;  // Guards these three.
  std::vector<EngineRead> queue_;
  bool sleeping_ = false;  // The thread found the queue empty and looks at it only when woken.
  bool stopping_ = false;

  std::deque<EngineRead> pending_;
  std::vector<EngineRead> slots_;  // Reads in flight, by user_data.
  std::vector<unsigned> free_slots_;
  std::deque<unsigned> prepared_;  // Slots whose entry the kernel has not taken yet, in order;
  bool wake_prepared_ = false;     // the wake-up's entry stands before all of them.
  bool wake_armed_ = false;
  uint64_t wake_count_ = 0;  // Written by the kernel.
  int broken_ = 0;           // errno of an io_uring_enter that will not succeed again.
  std::vector<Completion> batch_;
  std::thread thread_;
};

Status UringEngine::SetUp(const UringRegistration& registration) {
  const int probe = ProbeRing();
  const int made = probe < 0 ? probe : MakeRing(&ring_);
  if (made < 0) {
    const auto sysctl = ReadSmallFile("/proc/sys/kernel/io_uring_disabled");
    return Refused(ExplainUringRefusal(-made, sysctl ? std::string_view(*sysctl) : ""));
  }
  has_ring_ = true;
  wake_fd_ = eventfd(0, EFD_CLOEXEC);
  if (wake_fd_ < 0) {
    return Failed(fmt::format("io_uring cannot be used: no eventfd: {}", SystemMessage(errno)),
                  errno);
  }
  Register(registration);
  slots_.resize(kMostInFlight);
  for (unsigned slot = kMostInFlight; slot > 0; --slot) free_slots_.push_back(slot - 1);
  return StartThread(&thread_, [this] { Run(); });
}

UringEngine::~UringEngine() {
  Stop();
  if (has_ring_) io_uring_queue_exit(&ring_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

void UringEngine::Register(const UringRegistration& registration) {
  const int buffers = RegisterBuffers(registration);
  const int files = RegisterFiles(registration);
  if (buffers >= 0 && files >= 0) return;
  const bool limit = buffers == -ENOMEM || files == -ENOMEM;
  Tell(setup_.notice,
       fmt::format("io_uring reads with plain {} (registration: {}){}",
                   buffers >= 0 ? "files"
                   : files >= 0 ? "buffers"
                                : "buffers and files",
                   SystemMessage(buffers < 0 ? -buffers : -files),
                   limit ? "; the limit of locked memory (ulimit -l) is too low" : ""));
}

int UringEngine::RegisterBuffers(const UringRegistration& registration) {
  std::vector<iovec> chunks;
  for (const Region& region : setup_.regions) {
    for (size_t at = 0; at < region.bytes; at += kChunkBytes) {
      const size_t bytes = std::min(kChunkBytes, region.bytes - at);
      fixed_buffers_.push_back(
          {region.data + at, region.data + at + bytes, static_cast<int>(chunks.size())});
      chunks.push_back({region.data + at, bytes});
    }
  }
  if (chunks.empty()) return 0;
  const auto count = static_cast<unsigned>(chunks.size());
  const int result = registration.buffers ? registration.buffers(&ring_, chunks.data(), count)
                                          : io_uring_register_buffers(&ring_, chunks.data(), count);
  if (result < 0) fixed_buffers_.clear();
  std::sort(fixed_buffers_.begin(), fixed_buffers_.end(),
            [](const FixedBuffer& a, const FixedBuffer& b) { return a.begin < b.begin; });
  return result;
}

int UringEngine::RegisterFiles(const UringRegistration& registration) {
  std::vector<int> fds;
  for (const File& file : setup_.files->files()) fds.push_back(file.fd);
  if (fds.empty()) return 0;
  const auto count = static_cast<unsigned>(fds.size());
  const int result = registration.files ? registration.files(&ring_, fds.data(), count)
                                        : io_uring_register_files(&ring_, fds.data(), count);
  fixed_files_ = result >= 0;
  return result;
}

const FixedBuffer* UringEngine::FindFixed(const EngineRead& read) const {
  const auto after = std::upper_bound(
      fixed_buffers_.begin(), fixed_buffers_.end(), read.data,
      [](const std::byte* data, const FixedBuffer& buffer) { return data < buffer.begin; });
  if (after == fixed_buffers_.begin()) return nullptr;
  const FixedBuffer& buffer = *(after - 1);
  const bool inside =
      read.data < buffer.end && read.bytes <= static_cast<size_t>(buffer.end - read.data);
  return inside ? &buffer : nullptr;
}

void UringEngine::Submit(std::span<const EngineRead> reads) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), reads.begin(), reads.end());
    wake = std::exchange(sleeping_, false);
  }
  if (wake) eventfd_write(wake_fd_, 1);
}

void UringEngine::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (wake_fd_ >= 0) eventfd_write(wake_fd_, 1);
  if (thread_.joinable()) thread_.join();
}

std::string UringEngine::Describe() const {
  return fmt::format("io_uring, {} buffers, {} files", fixed_buffers_.empty() ? "plain" : "fixed",
                     fixed_files_ ? "fixed" : "plain");
}

void UringEngine::Run() {
  PrepareIoThread("penstock-uring", setup_.cpus, setup_.notice);
  if (const int result = EnableRing(&ring_); result < 0) Break(-result);
  while (TakeQueue()) {
    ArmWakeUp();
    Prepare();
    Enter();
    Reap();
  }
}

// False when there is nothing left to do.
bool UringEngine::TakeQueue() {
  const std::lock_guard lock(mutex_);
  pending_.insert(pending_.end(), queue_.begin(), queue_.end());
  queue_.clear();
  const bool idle = pending_.empty() && free_slots_.size() == slots_.size();
  return !(stopping_ && idle);
}

// Announces that the queue is not looked at any more; false when it is not empty.
bool UringEngine::MaySleep() {
  const std::lock_guard lock(mutex_);
  sleeping_ = queue_.empty();
  return sleeping_;
}

void UringEngine::WakeUp() {
  const std::lock_guard lock(mutex_);
  sleeping_ = false;
}

void UringEngine::ArmWakeUp() {
  if (wake_armed_ || broken_ != 0 || !prepared_.empty()) return;
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) return;
  io_uring_prep_read(sqe, wake_fd_, &wake_count_, sizeof wake_count_, 0);
  io_uring_sqe_set_data64(sqe, kWakeUp);
  wake_armed_ = wake_prepared_ = true;
}

void UringEngine::Prepare() {
  while (!pending_.empty() && !free_slots_.empty()) {
    io_uring_sqe* sqe = broken_ == 0 ? io_uring_get_sqe(&ring_) : nullptr;
    if (sqe == nullptr && broken_ == 0) return;
    const unsigned slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = pending_.front();
    pending_.pop_front();
    if (broken_ != 0) {
      Finish(slot, -broken_);
    } else {
      PrepareRead(sqe, slot);
      prepared_.push_back(slot);
    }
  }
}

void UringEngine::PrepareRead(io_uring_sqe* sqe, unsigned slot) {
  const EngineRead& read = slots_[slot];
  const int fd = fixed_files_ ? static_cast<int>(read.file) : (*setup_.files)[read.file].fd;
  if (const FixedBuffer* fixed = FindFixed(read)) {
    io_uring_prep_read_fixed(sqe, fd, read.data, read.bytes, read.offset, fixed->index);
  } else {
    io_uring_prep_read(sqe, fd, read.data, read.bytes, read.offset);
  }
  if (fixed_files_) io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
  io_uring_sqe_set_data64(sqe, slot);
  AnnotateSubmission(read.data);
}

// Submits what is prepared and, when there is nothing else to do, sleeps until a read completes or
// somebody queues one.
void UringEngine::Enter() {
  if (broken_ != 0) {
    io_uring_get_events(&ring_);  // A deferring ring posts completions only when it is asked to.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return;
  }
  const bool more = !pending_.empty() && !free_slots_.empty();
  const bool sleep = !more && wake_armed_ && io_uring_cq_ready(&ring_) == 0 && MaySleep();
  const int result = io_uring_submit_and_wait(&ring_, sleep ? 1 : 0);
  if (sleep) WakeUp();
  if (result < 0) {
    if (result == -EINTR) return;
    if (result != -EAGAIN && result != -EBUSY) return Break(-result);
    // Short of memory for the moment.
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return;
  }
  int taken = result;
  if (taken > 0 && std::exchange(wake_prepared_, false)) --taken;
  PENSTOCK_CHECK(static_cast<size_t>(taken) <= prepared_.size());
  prepared_.erase(prepared_.begin(), prepared_.begin() + taken);
}

// The ring takes nothing any more. What the kernel has not seen fails; what it has is waited for,
// because it may still be written.
void UringEngine::Break(int sys) {
  broken_ = sys;
  for (const unsigned slot : prepared_) Finish(slot, -sys);
  prepared_.clear();
}

void UringEngine::Reap() {
  io_uring_cqe* entry = nullptr;
  unsigned head = 0;
  unsigned seen = 0;
  io_uring_for_each_cqe(&ring_, head, entry) {
    ++seen;
    if (entry->user_data == kWakeUp) {
      wake_armed_ = false;
    } else {
      Finish(static_cast<unsigned>(entry->user_data), entry->res);
    }
  }
  io_uring_cq_advance(&ring_, seen);
  if (batch_.empty()) return;
  sink_(batch_);
  batch_.clear();
}

void UringEngine::Finish(unsigned slot, int result) {
  const EngineRead& read = slots_[slot];
  if (result > 0) AnnotateCompletion(read.data, static_cast<size_t>(result));
  batch_.push_back({read.cookie, result, read.data});
  free_slots_.push_back(slot);
}

}  // namespace

std::string ExplainUringRefusal(int sys, std::string_view disabled) {
  constexpr std::string_view kRemedy = "or use --ioengine pread";
  const std::string_view level = disabled.substr(0, disabled.find('\n'));
  if (sys == ENOSYS) {
    return fmt::format("io_uring is not in this kernel: use one from 5.11 on, {}", kRemedy);
  }
  if (sys == EPERM && (level == "1" || level == "2")) {
    return fmt::format(
        "io_uring is forbidden by the sysctl kernel.io_uring_disabled = {}: set it "
        "to 0, {}",
        level, kRemedy);
  }
  if (sys == EPERM || sys == EACCES) {
    return fmt::format(
        "io_uring is forbidden by a seccomp filter, as containers set it: allow "
        "io_uring_setup, io_uring_enter and io_uring_register there, {}",
        kRemedy);
  }
  if (sys == ENOMEM) {
    return fmt::format(
        "io_uring got no memory for its ring: raise the limit of locked memory "
        "(ulimit -l), {}",
        kRemedy);
  }
  return fmt::format("io_uring cannot be set up ({}): {}", SystemMessage(sys), kRemedy.substr(3));
}

Result<std::unique_ptr<Engine>> MakeUringEngine(const EngineSetup& setup,
                                                UringRegistration registration) {
  auto engine = std::make_unique<UringEngine>(setup);
  PENSTOCK_TRY_VOID(engine->SetUp(registration));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace penstock::io
