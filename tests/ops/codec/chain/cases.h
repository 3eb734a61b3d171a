#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ops/codec/chain/chain.h"

namespace penstock::ops::chain {

using Bytes = std::vector<uint8_t>;

// Every decoder of this machine, scalar first.
std::vector<const Kernels*> KernelsHere();

// How the symbols of a plane are drawn.
enum class Draw { kConstant, kTwo, kTrained, kFew, kRuns, kUniform };
inline constexpr Draw kDraws[] = {Draw::kConstant, Draw::kTwo,  Draw::kTrained,
                                  Draw::kFew,      Draw::kRuns, Draw::kUniform};
Bytes DrawSymbols(Draw draw, size_t n, uint64_t seed);
Bytes DrawBytes(size_t n, uint64_t seed);

// The plane by a second writer, bit by bit, in a shape of the caller's choice: the dictionary is
// listed, and the symbols outside of it are exceptions.
struct Shape {
  unsigned wide;
  unsigned narrow;
  uint8_t units;
  Bytes dictionary;
};
Bytes EncodeAs(const Shape& shape, const Bytes& symbols);

// What a decoder makes of a plane, nullopt for a refusal. The input is followed by 64 readable
// bytes and then by none; the output by none. Bytes before the output must stay. `shift`: bytes
// that the output is moved away from an aligned address.
std::optional<Bytes> Symbols(const Kernels& kernels, const Bytes& coded, size_t n);
std::optional<std::vector<uint16_t>> Bf16(const Kernels& kernels, const Bytes& coded,
                                          const Bytes& rest, bool streaming, size_t shift = 0);

std::vector<uint16_t> Merged(const Bytes& symbols, const Bytes& rest);

}  // namespace penstock::ops::chain
