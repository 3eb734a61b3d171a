#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/codec/chain/chain.h"
#include "ops/codec/huffman/huffman.h"
#include "runtime/notice.h"

namespace penstock::ops {

struct CodecKernels {
  const chain::Kernels* chain;
  const huffman::Kernels* huffman;
};

// The fastest decoders of this CPU, by a measurement of a few milliseconds: an instruction may be
// there and slow (pdep is microcode on Zen 1 and 2). Each is first compared with scalar; one that
// gives other bytes is left out and tells `notice`. `isa` "scalar" takes those, "avx2" no
// wider ones, any other value whatever is fastest.
CodecKernels ChooseCodecKernels(const std::string& isa, const Notice& notice);

// The same over given decoders of one codec; the others are compared with the first.
const chain::Kernels* FastestChain(std::span<const chain::Kernels* const> candidates,
                                   const Notice& notice);
const huffman::Kernels* FastestHuffman(std::span<const huffman::Kernels* const> candidates,
                                       const Notice& notice);

// All that this machine can run, scalar first: for tests and benchmarks.
std::vector<const chain::Kernels*> ChainKernelsHere();
std::vector<const huffman::Kernels*> HuffmanKernelsHere();

}  // namespace penstock::ops
