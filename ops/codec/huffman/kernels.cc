#include "ops/codec/huffman/huffman.h"
#include "runtime/cpu/instructions.h"

namespace penstock::ops::huffman {

// nullptr where this build has none.
const Kernels* BuiltAvx2();
const Kernels* BuiltAvx512();

const Kernels* Avx2() { return CpuHasAvx2() ? BuiltAvx2() : nullptr; }

const Kernels* Avx512() { return CpuHasAvx512() ? BuiltAvx512() : nullptr; }

}  // namespace penstock::ops::huffman
