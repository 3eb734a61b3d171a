#include "io/pack/write/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock::io {

Result<OutputFile> OutputFile::Open(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  file.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file.fd_ < 0) return file.Problem("cannot be opened", errno);
  return file;
}

Result<OutputFile> OutputFile::OpenHeld(const std::string& path) {
  for (;;) {
    PENSTOCK_TRY(OutputFile file, Open(path));
    while (::flock(file.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return file.Problem("another writer holds it", errno);
      if (errno != EINTR) return file.Problem("cannot be locked", errno);
    }
    // Else whoever held it between the two calls is done with it.
    if (file.HasItsName()) return file;
  }
}

bool OutputFile::HasItsName() const {
  struct stat mine = {}, named = {};
  return ::fstat(fd_, &mine) == 0 && ::lstat(path_.c_str(), &named) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

OutputFile::OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Error OutputFile::Problem(std::string_view what, int error) const {
  return Failed(fmt::format("{}: {}: {}", path_, what, std::strerror(error)), error);
}

Status OutputFile::WriteAt(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return Problem(fmt::format("writing {} bytes at {} failed", bytes.size(), offset),
                     written == 0 ? ENOSPC : errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return {};
}

Status OutputFile::WriteAt(uint64_t offset, std::string_view text) {
  return WriteAt(offset, std::as_bytes(std::span(text)));
}

Status OutputFile::Truncate(uint64_t bytes) {
  while (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return Problem(fmt::format("cannot be cut to {} bytes", bytes), errno);
  }
  return {};
}

Status OutputFile::Sync() {
  while (::fdatasync(fd_) != 0) {
    if (errno != EINTR) return Problem("cannot be brought to the device", errno);
  }
  return {};
}

void OutputFile::DropCache(uint64_t offset, uint64_t bytes) {
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
}

Status RenameFile(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  const int error = errno;
  return Failed(fmt::format("{}: cannot get the name {}: {}", from, to, std::strerror(error)),
                error);
}

}  // namespace penstock::io
