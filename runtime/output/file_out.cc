#include "runtime/output/file_out.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock {
namespace {

bool ExistsAsSpecialFile(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

bool Exists(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

Error AlreadyThere(const std::string& path) {
  return Refused(fmt::format("{} exists and is not overwritten unasked", path));
}

}  // namespace

Result<int> OpenForWriting(const std::string& path, bool replace) {
  int flags = O_WRONLY | O_CLOEXEC;
  if (!ExistsAsSpecialFile(path)) flags |= O_CREAT | (replace ? O_TRUNC : O_EXCL);
  const int fd = ::open(path.c_str(), flags, 0644);
  if (fd >= 0) return fd;
  if (errno == EEXIST) return AlreadyThere(path);
  return Refused(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

Status WriteAll(int fd, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      const int sys = errno;
      return Failed(fmt::format("cannot write {}: {}", path, std::strerror(sys)), sys);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<RecordFile> RecordFile::Create(const std::string& path, bool replace) {
  const bool direct = ExistsAsSpecialFile(path);
  if (!direct && !replace && Exists(path)) return AlreadyThere(path);
  const std::string written = direct ? path : path + ".partial";
  PENSTOCK_TRY(const int fd, OpenForWriting(written, replace));
  return RecordFile(path, written, fd, replace);
}

RecordFile::RecordFile(RecordFile&& other) noexcept
    : path_(std::move(other.path_)),
      written_path_(std::move(other.written_path_)),
      fd_(std::exchange(other.fd_, -1)),
      replace_(other.replace_),
      failed_(other.failed_),
      named_(other.named_),
      bytes_(other.bytes_) {}

RecordFile& RecordFile::operator=(RecordFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(written_path_, other.written_path_);
  std::swap(fd_, other.fd_);
  std::swap(replace_, other.replace_);
  std::swap(failed_, other.failed_);
  std::swap(named_, other.named_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

RecordFile::~RecordFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status RecordFile::Append(std::string_view record) {
  auto written = WriteAll(fd_, record, path_);
  failed_ = failed_ || !written;
  if (written) {
    bytes_ += record.size();
  } else if (::ftruncate(fd_, static_cast<off_t>(bytes_)) == 0) {
    ::lseek(fd_, static_cast<off_t>(bytes_), SEEK_SET);
  }
  return written;
}

void RecordFile::Discard() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (written_path_ != path_ && !named_) ::unlink(written_path_.c_str());
}

Status RecordFile::Finish() {
  if (fd_ < 0) return {};
  const bool synced = written_path_ == path_ || bytes_ == 0 || ::fdatasync(fd_) == 0;
  if (!synced) failed_ = true;
  const int sync_error = errno;
  const int closed = ::close(std::exchange(fd_, -1));
  const int sys = errno;
  if (written_path_ == path_) return {};
  if (!synced) {
    return Failed(fmt::format("cannot write {}: {}", path_, std::strerror(sync_error)), sync_error);
  }
  if (failed_ && bytes_ != 0) return {};
  if (bytes_ == 0) {
    ::unlink(written_path_.c_str());
    return {};
  }
  if (closed != 0)
    return Failed(fmt::format("cannot write {}: {}", path_, std::strerror(sys)), sys);
  return Rename();
}

Status RecordFile::Rename() {
  // A file that appeared meanwhile is no less precious than one that was there before.
  const unsigned flags = replace_ ? 0 : RENAME_NOREPLACE;
  int done = ::renameat2(AT_FDCWD, written_path_.c_str(), AT_FDCWD, path_.c_str(), flags);
  if (done != 0 && errno == EINVAL && !Exists(path_)) {  // The file system lacks the flag.
    done = ::rename(written_path_.c_str(), path_.c_str());
  }
  named_ = done == 0;
  if (named_) return {};
  const int sys = errno;
  return Failed(
      fmt::format("cannot give {} its name {}: {}", written_path_, path_, std::strerror(sys)), sys);
}

}  // namespace penstock
