#include "io/pack/sum/sum.h"

#include <xxhash.h>

#include "runtime/cpu/instructions.h"

namespace penstock::io {

SumFunction BuiltSumAvx2();    // avx2.cc: null where this build has none.
SumFunction BuiltSumAvx512();  // avx512.cc, likewise.

namespace {

uint64_t SumByLibrary(const std::byte* bytes, size_t size) { return XXH3_64bits(bytes, size); }

SumFunction Widest() {
  if (const SumFunction sum = SumByAvx512()) return sum;
  if (const SumFunction sum = SumByAvx2()) return sum;
  return SumByLibrary;
}

}  // namespace

SumFunction SumByAvx2() { return CpuHasAvx2() ? BuiltSumAvx2() : nullptr; }
SumFunction SumByAvx512() { return CpuHasAvx512() ? BuiltSumAvx512() : nullptr; }

uint64_t SumOf(std::span<const std::byte> bytes) {
  static const SumFunction sum = Widest();
  return sum(bytes.data(), bytes.size());
}

RunningSum::RunningSum()
    : state_(XXH3_createState(), [](XXH3_state_s* state) { XXH3_freeState(state); }) {
  XXH3_64bits_reset(state_.get());
}

void RunningSum::Add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t RunningSum::value() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace penstock::io
