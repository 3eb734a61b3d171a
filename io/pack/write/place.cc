#include "io/pack/write/place.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/pack/directory.h"
#include "io/pack/layout.h"
#include "io/safetensors/names.h"

namespace penstock::io {

namespace fs = std::filesystem;

Result<PackPlace> PackPlace::Take(const std::string& directory, const Notice& notice) {
  if (directory.empty() || directory.find('\0') != std::string::npos) {
    return Refused("expected the name of a directory to write, got an empty one");
  }
  PackPlace place(directory);
  PENSTOCK_TRY_VOID(place.Make());
  PENSTOCK_TRY_VOID(place.Lock(notice));
  if (HasFile(place.Path(kManifestName))) {
    // The journal is there when the last writer was stopped in its very last moment.
    ::unlink(place.Path(kJournalName).c_str());
    return Refused(fmt::format("{}: the pack is already complete", directory));
  }
  PENSTOCK_TRY_VOID(place.CheckEntries());
  return place;
}

namespace {

// So that a name in it stays after a loss of power. A directory that cannot be opened for it is left
// to the kernel.
void SyncDirectory(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

PackPlace::PackPlace(PackPlace&& other) noexcept
    : directory_(std::move(other.directory_)),
      made_(std::exchange(other.made_, false)),
      fd_(std::exchange(other.fd_, -1)) {}

PackPlace::~PackPlace() {
  if (made_) ::rmdir(directory_.c_str());  // Does nothing when there is something in it.
  if (fd_ >= 0) ::close(fd_);
}

std::string PackPlace::Path(std::string_view name) const { return PackPath(directory_, name); }

Status PackPlace::Make() {
  std::error_code error;
  const fs::file_status status = fs::status(directory_, error);
  if (fs::exists(status) && !fs::is_directory(status)) {
    return Refused(fmt::format("{}: expected a directory or none, got a file", directory_));
  }
  if (!fs::exists(status)) {
    std::vector<fs::path> parents;  // Of directories that are made.
    for (fs::path path = fs::absolute(directory_).lexically_normal(); !fs::exists(path);) {
      if (!path.has_filename()) path = path.parent_path();
      path = path.parent_path();
      parents.push_back(path);
    }
    fs::create_directories(directory_, error);
    if (error) return Refused(fmt::format("{}: cannot be made: {}", directory_, error.message()));
    for (const fs::path& parent : parents) SyncDirectory(parent);
    made_ = true;
  }
  fd_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ >= 0) return {};
  return Refused(fmt::format("{}: cannot be opened: {}", directory_, std::strerror(errno)));
}

Status PackPlace::Lock(const Notice& notice) {
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      made_ = false;
      return Refused(
          fmt::format("{}: another process is writing a pack into this directory", directory_));
    }
    Tell(notice, fmt::format("{}: cannot be locked against another writer: {}", directory_,
                             std::strerror(errno)));
    break;
  }
  return {};
}

Status PackPlace::CheckEntries() const {
  constexpr std::array kOurs = {kJournalName, kPartialStripesName, kPartialManifestName};
  const bool begun = HasFile(Path(kJournalName));
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool ours = std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end() ||
                      (begun && name == kStripesName);
    if (!ours) {
      return Refused(
          fmt::format("{}: expected an empty directory, none, or a pack that was begun, got one "
                      "with {} in it, which is left alone",
                      directory_, Quoted(name)));
    }
  }
  if (error) return Refused(fmt::format("{}: {}", directory_, error.message()));
  return {};
}

Status PackPlace::CheckSpace(uint64_t expected) const {
  struct statvfs info {};
  if (::statvfs(directory_.c_str(), &info) != 0) {
    return Failed(
        fmt::format("{}: its file system does not answer: {}", directory_, std::strerror(errno)),
        errno);
  }
  uint64_t room = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  for (const std::string_view name : {kPartialStripesName, kStripesName}) {
    std::error_code error;
    const uint64_t there = fs::file_size(Path(name), error);
    if (!error) room += there;
  }
  if (room >= expected) return {};
  return Refused(
      fmt::format("{}: expected room for about {} bytes, got {}", directory_, expected, room));
}

Status PackPlace::Sync() const {
  while (::fsync(fd_) != 0) {
    if (errno == EINVAL) return {};  // A file system without anything to bring there.
    if (errno == EINTR) continue;
    return Failed(
        fmt::format("{}: cannot be brought to the device: {}", directory_, std::strerror(errno)),
        errno);
  }
  return {};
}

}  // namespace penstock::io
