#pragma once

#include <cstdint>

namespace penstock::k3 {

// Never asks to stop.
inline constexpr auto kGoOn = [](uint64_t) { return true; };

}  // namespace penstock::k3
