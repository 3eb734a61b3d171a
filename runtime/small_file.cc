#include "runtime/small_file.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace penstock {

Result<std::string> ReadSmallFile(const std::string& path, size_t limit) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Refused(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
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
