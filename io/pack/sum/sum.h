#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::io {

// XXH3-64 with seed 0: the sum of the pack format. By the widest instructions of this CPU, because
// Debian's library is built for SSE2 alone, with which the sum of what is stored costs a chain
// decoder about a third of its speed (`penstock bench codec`, rows "chain" and "chain+sum").
uint64_t SumOf(std::span<const std::byte> bytes);

// The same by one instruction set, for tests. Null where the CPU or this build lacks it.
using SumFunction = uint64_t (*)(const std::byte* bytes, size_t size);
SumFunction SumByAvx2();
SumFunction SumByAvx512();

}  // namespace penstock::io
