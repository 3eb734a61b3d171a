#include "io/file.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "io/queue/piece.h"
#include "runtime/check.h"
#include "runtime/memory/region.h"
#include "runtime/process/system_message.h"

namespace penstock::io {
namespace {

constexpr uint32_t kAssumedAlignment = 4096;
constexpr uint32_t kLeastAlignment = 512;
constexpr long kTmpfsMagic = 0x01021994;
constexpr long kRamfsMagic = 0x858458f6;

Result<int> OpenRegular(const std::string& path, struct stat* facts) {
  // Non-blocking, or opening a FIFO would wait for its writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Refused(fmt::format("{} cannot be opened: {}", path, SystemMessage(errno)));
  const int failed = fstat(fd, facts) != 0 ? errno : 0;
  if (failed == 0 && S_ISREG(facts->st_mode)) {
    fcntl(fd, F_SETFL, 0);
    return fd;
  }
  close(fd);
  if (failed != 0)
    return Refused(fmt::format("{} cannot be examined: {}", path, SystemMessage(failed)));
  return Refused(fmt::format("{} is not a regular file", path));
}

// What direct reads of this file must be aligned to, or why there are none.
Result<uint32_t> DirectAlignment(int fd) {
  struct statx facts = {};
#ifdef STATX_DIOALIGN
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 &&
      (facts.stx_mask & STATX_DIOALIGN) != 0) {
    if (facts.stx_dio_offset_align == 0) return Failed("the file system offers no direct reads");
    const uint32_t alignment =
        std::max({facts.stx_dio_mem_align, facts.stx_dio_offset_align, kLeastAlignment});
    if (alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
      return Failed(fmt::format("its alignment of {} bytes is not usable", alignment));
    }
    return alignment;
  }
#endif
  struct statfs system = {};
  if (fstatfs(fd, &system) == 0 && (system.f_type == kTmpfsMagic || system.f_type == kRamfsMagic)) {
    return Failed("it lies in memory (tmpfs)");
  }
  return kAssumedAlignment;
}

// Switches the file to direct reads and tries one. On an error it is back as it was.
Status MakeDirect(File* file, const TestRead& test_read) {
  PENSTOCK_TRY(const uint32_t alignment, DirectAlignment(file->fd));
  PENSTOCK_TRY(const MutableBuffer buffer, AllocateBuffer(alignment));
  if (fcntl(file->fd, F_SETFL, O_DIRECT) != 0) {
    return Failed(fmt::format("O_DIRECT was refused: {}", SystemMessage(errno)));
  }
  int sys = 0;
  if (file->bytes > 0) sys = test_read(file->fd, buffer.data(), alignment);
  if (sys != 0) {
    fcntl(file->fd, F_SETFL, 0);
    return Failed(fmt::format("a test read failed: {}", SystemMessage(sys)));
  }
  file->direct = true;
  file->alignment = alignment;
  return {};
}

struct Fallback {
  std::string path;
  std::string reason;
};

// One line for each reason: a checkpoint has a hundred files on one file system.
void TellFallbacks(std::span<const Fallback> fallbacks, const Notice& notice) {
  std::map<std::string, std::vector<const Fallback*>> by_reason;
  for (const Fallback& fallback : fallbacks) by_reason[fallback.reason].push_back(&fallback);
  for (const auto& [reason, group] : by_reason) {
    const std::string more =
        group.size() == 1 ? " is" : fmt::format(" and {} more files are", group.size() - 1);
    Tell(notice, fmt::format("{}{} read through the page cache, not directly: {}", group[0]->path,
                             more, reason));
  }
}

}  // namespace

Result<DirectMode> ParseDirectMode(std::string_view text) {
  if (text == "auto") return DirectMode::kAuto;
  if (text == "0") return DirectMode::kNever;
  if (text == "1") return DirectMode::kAlways;
  return Refused(fmt::format("--direct is auto, 0 or 1, got \"{}\"", text));
}

int TestReadOf(int fd, std::byte* buffer, size_t bytes) {
  for (;;) {
    if (pread(fd, buffer, bytes, 0) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

Result<FileSet> FileSet::Open(std::span<const std::string> paths, DirectMode mode,
                              const Notice& notice, const TestRead& test_read) {
  FileSet set;
  std::map<dev_t, uint32_t> devices;
  std::vector<Fallback> fallbacks;
  for (const std::string& path : paths) {
    struct stat facts = {};
    File file;
    PENSTOCK_TRY(file.fd, OpenRegular(path, &facts));
    file.path = path;
    file.bytes = static_cast<uint64_t>(facts.st_size);
    file.device = devices.emplace(facts.st_dev, devices.size()).first->second;
    set.files_.push_back(file);
    if (mode == DirectMode::kNever) continue;
    const Status direct = MakeDirect(&set.files_.back(), test_read);
    if (direct) continue;
    if (mode == DirectMode::kAlways) {
      return Refused(
          fmt::format("{} cannot be read with --direct 1: {}", path, direct.error().message));
    }
    fallbacks.push_back({path, direct.error().message});
  }
  TellFallbacks(fallbacks, notice);
  return set;
}

FileSet::~FileSet() {
  for (const File& file : files_) close(file.fd);
}

FileSet::FileSet(FileSet&& other) noexcept : files_(std::move(other.files_)) {
  other.files_.clear();
}

FileSet& FileSet::operator=(FileSet&& other) noexcept {
  std::swap(files_, other.files_);
  return *this;
}

size_t FileSet::Alignment() const {
  size_t alignment = files_.empty() ? kAssumedAlignment : kLeastAlignment;
  for (const File& file : files_) alignment = std::max<size_t>(alignment, file.alignment);
  return alignment;
}

uint32_t FileSet::device_count() const {
  uint32_t count = 0;
  for (const File& file : files_) count = std::max(count, file.device + 1);
  return count;
}

size_t FileSet::direct_count() const {
  return static_cast<size_t>(
      std::count_if(files_.begin(), files_.end(), [](const File& file) { return file.direct; }));
}

uint64_t FileSet::RoundedBytes(const Extent& extent) const {
  PENSTOCK_CHECK(extent.file < files_.size());
  const uint64_t alignment = files_[extent.file].alignment;
  const Split split = SplitExtent(extent, alignment, alignment);
  return split.end - split.begin;
}

}  // namespace penstock::io
