#include "models/k3/synth/write/new_directory.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace penstock::k3 {

namespace fs = std::filesystem;

Result<NewDirectory> NewDirectory::Make(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Refused("expected the name of a directory to write, got an empty one");
  }
  std::error_code error;
  NewDirectory directory(path);
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    const bool empty = fs::is_empty(path, error);
    if (error) return Refused(fmt::format("{}: {}", path, error.message()));
    if (!empty) {
      return Refused(
          fmt::format("{}: expected an empty directory or none, got one with files in "
                      "it, which are left alone",
                      path));
    }
  } else if (fs::exists(status)) {
    return Refused(fmt::format("{}: expected an empty directory or none, got a file", path));
  } else {
    fs::create_directories(path, error);
    if (error) return Refused(fmt::format("{}: cannot be made: {}", path, error.message()));
    directory.made_ = true;
  }
  return directory;
}

NewDirectory::NewDirectory(NewDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      made_(other.made_),
      committed_(std::exchange(other.committed_, true)),
      fd_(std::exchange(other.fd_, -1)),
      direct_(other.direct_),
      names_(std::move(other.names_)) {}

NewDirectory::~NewDirectory() {
  if (fd_ >= 0) ::close(fd_);
  if (!committed_) Remove();
}

void NewDirectory::Remove() {
  for (const std::string& name : names_) {
    ::unlink(Temporary(name).c_str());
    ::unlink(Path(name).c_str());
  }
  if (made_) ::rmdir(path_.c_str());
}

Error NewDirectory::Problem(const char* what, int error) const {
  return Failed(fmt::format("{}: {}: {}", names_.empty() ? path_ : Path(names_.back()), what,
                            std::strerror(error)),
                error);
}

Result<uint64_t> NewDirectory::FreeBytes() const {
  struct statvfs info {};
  if (::statvfs(path_.c_str(), &info) != 0)
    return Problem("its file system does not answer", errno);
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

Status NewDirectory::Begin(const std::string& name, uint64_t bytes) {
  const int fd = ::open(Temporary(name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  const int error = errno;
  if (fd < 0)
    return Failed(fmt::format("{}: cannot be made: {}", Path(name), std::strerror(error)), error);
  names_.push_back(name);
  fd_ = fd;
  direct_ = false;
  if (bytes == 0 || ::fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) == 0) return {};
  // Not every file system can reserve; writing will tell.
  if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR) return {};
  return Problem(fmt::format("cannot get {} bytes", bytes).c_str(), errno);
}

Status NewDirectory::BeginDirect(const std::string& name, uint64_t bytes) {
  PENSTOCK_TRY_VOID(Begin(name, bytes));
  const int flags = ::fcntl(fd_, F_GETFL);
  direct_ = flags >= 0 && ::fcntl(fd_, F_SETFL, flags | O_DIRECT) == 0;
  return {};
}

bool NewDirectory::LeaveDirect() {
  if (!std::exchange(direct_, false)) return false;
  const int flags = ::fcntl(fd_, F_GETFL);
  return flags >= 0 && ::fcntl(fd_, F_SETFL, flags & ~O_DIRECT) == 0;
}

Status NewDirectory::WriteAll(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    // It took the flag and not the bytes: other alignments, or it cannot after all.
    if (written < 0 && errno == EINVAL && LeaveDirect()) continue;
    if (written <= 0) return Problem("writing failed", written == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status NewDirectory::Write(std::span<const std::byte> bytes) {
  const size_t whole = direct_ ? bytes.size() / kDirect * kDirect : 0;
  PENSTOCK_TRY_VOID(WriteAll(bytes.first(whole)));
  if (whole < bytes.size()) LeaveDirect();
  return WriteAll(bytes.subspan(whole));
}

Status NewDirectory::Write(std::string_view text) { return Write(std::as_bytes(std::span(text))); }

Status NewDirectory::End() {
  if (::close(std::exchange(fd_, -1)) != 0) return Problem("closing failed", errno);
  return {};
}

Status NewDirectory::Commit() {
  for (const std::string& name : names_) {
    if (::rename(Temporary(name).c_str(), Path(name).c_str()) != 0) {
      const int error = errno;
      return Failed(fmt::format("{}: cannot be renamed: {}", Path(name), std::strerror(error)),
                    error);
    }
  }
  committed_ = true;
  return {};
}

}  // namespace penstock::k3
