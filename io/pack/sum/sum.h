#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace penstock::io {

// XXH3-64 with seed 0: the sum of the pack format. By the widest instructions of this CPU, because
// Debian's library is built for SSE2 alone, with which the sum of what is stored costs a chain
// decoder about a third of its speed (`penstock bench codec`, rows "chain" and "chain+sum").
uint64_t SumOf(std::span<const std::byte> bytes);

// The sum of bytes that come in pieces: value() is SumOf all of them so far. Move-only.
class RunningSum {
 public:
  RunningSum();
  void Add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

// SumOf by one instruction set, for tests. Null where the CPU or this build lacks it.
using SumFunction = uint64_t (*)(const std::byte* bytes, size_t size);
SumFunction SumByAvx2();
SumFunction SumByAvx512();

}  // namespace penstock::io
