#pragma once

#include <cstddef>
#include <vector>

#include "io/pack/directory.h"
#include "runtime/result.h"

namespace penstock::io {

// The stored bytes of one stripe, read at once and unchecked: for start-up, where there is no Reader
// yet. kFailed when the device does.
Result<std::vector<std::byte>> ReadStripe(const Pack& pack, size_t stripe);

}  // namespace penstock::io
