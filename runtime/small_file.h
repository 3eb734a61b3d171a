#pragma once

#include <cstddef>
#include <string>

#include "runtime/result.h"

namespace penstock {

inline constexpr size_t kSmallFileLimit = size_t{16} << 20;

// The whole of a text-sized file, also of one whose size the file system does not know (/proc,
// a pipe). Refused when it cannot be opened, is no readable file, or holds more than `limit` bytes;
// memory grows with what arrives, never with a size that the file claims.
Result<std::string> ReadSmallFile(const std::string& path, size_t limit = kSmallFileLimit);

}  // namespace penstock
