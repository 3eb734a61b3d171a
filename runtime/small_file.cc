#include "runtime/small_file.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock {
namespace {

// A file that is regular and not too large, or a device such as /dev/stdin's terminal.
Status CheckKind(int fd, const std::string& path, size_t limit) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0) {
    return Refused(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  if (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)) {
    return Refused(fmt::format("{}: expected a regular file, got a pipe", path));
  }
  if (S_ISREG(facts.st_mode) && static_cast<uint64_t>(facts.st_size) > limit) {
    return Refused(
        fmt::format("{}: expected at most {} bytes, got {}", path, limit, facts.st_size));
  }
  return {};
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path, size_t limit) {
  // Without O_NONBLOCK the open itself would wait for somebody to write into a pipe.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Refused(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  if (Status status = CheckKind(fd, path, limit); !status) {
    ::close(fd);
    return std::move(status).error();
  }
  std::string text;
  std::array<char, 16384> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    const int sys = errno;
    const bool over = got > 0 && text.size() + static_cast<size_t>(got) > limit;
    if (got <= 0 || over) {
      ::close(fd);
      if (got < 0) return Refused(fmt::format("cannot read {}: {}", path, std::strerror(sys)));
      if (over) return Refused(fmt::format("{} holds more than {} bytes", path, limit));
      return text;
    }
    text.append(block.data(), static_cast<size_t>(got));
  }
}

}  // namespace penstock
