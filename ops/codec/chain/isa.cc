#include "ops/codec/chain/chain.h"
#include "runtime/cpu/instructions.h"

namespace penstock::ops::chain {

const Kernels* BuiltAvx2();    // avx2.cc: nullptr where this build has none.
const Kernels* BuiltAvx512();  // avx512.cc, likewise.

const Kernels* Avx2() { return CpuHasAvx2() ? BuiltAvx2() : nullptr; }

const Kernels* Avx512() { return CpuHasAvx512() ? BuiltAvx512() : nullptr; }

}  // namespace penstock::ops::chain
