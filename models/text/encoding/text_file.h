#pragma once

#include <cstddef>
#include <string>

#include "runtime/result.h"

namespace penstock::text {

// The whole content of a small regular file. kRefused when it is missing, not a regular file or
// larger than `max_bytes` (which bounds the allocation); kFailed when reading fails.
Result<std::string> ReadTextFile(const std::string& path, size_t max_bytes);

}  // namespace penstock::text
