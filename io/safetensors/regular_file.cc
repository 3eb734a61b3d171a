#include "io/safetensors/regular_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock::io {
namespace {

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Error CannotOpen(const std::string& path, int error) {
  Error refused = Refused(fmt::format("{}: cannot be opened: {}", path, std::strerror(error)));
  refused.sys = error;
  return refused;
}

}  // namespace

Result<RegularFile> RegularFile::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) return Refused("a file name holds a zero byte");
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return CannotOpen(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Refused(fmt::format("{}: expected a regular file, got {}", path, KindOf(info.st_mode)));
  }
  // Between stat and open the name may have become a pipe: O_NONBLOCK keeps even that from
  // blocking.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return CannotOpen(path, errno);
  RegularFile file(fd, 0, path);
  if (::fstat(fd, &info) != 0) return CannotOpen(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Refused(fmt::format("{}: expected a regular file, got {}", path, KindOf(info.st_mode)));
  }
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept { *this = std::move(other); }

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

RegularFile::~RegularFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status RegularFile::ReadAt(uint64_t offset, std::span<char> into) const {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(fd_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      return Failed(fmt::format("{}: reading {} bytes at {} failed: {}", path_, into.size(), offset,
                                std::strerror(error)),
                    error);
    }
    if (got == 0) {
      return Failed(fmt::format("{}: expected {} bytes at {}, got {}: the file became shorter",
                                path_, into.size(), offset, done));
    }
    done += static_cast<size_t>(got);
  }
  return {};
}

Result<std::string> ReadWholeFile(const std::string& path, uint64_t max_bytes) {
  PENSTOCK_TRY(RegularFile file, RegularFile::Open(path));
  if (file.size() > max_bytes) {
    return Refused(
        fmt::format("{}: expected at most {} bytes, got {}", path, max_bytes, file.size()));
  }
  std::string text(file.size(), '\0');
  PENSTOCK_TRY_VOID(file.ReadAt(0, text));
  return text;
}

}  // namespace penstock::io
