#pragma once

#include <bit>
#include <cstdint>

namespace penstock::k3 {

// SplitMix64 (Steele, Lea, Flood 2014): the state advances by kSplitMixStep, an output is its mix.
inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;

inline uint64_t SplitMix(uint64_t state) {
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

// The n-th output from the state `key`: a counter-based generator, so that any element can be
// computed alone.
inline uint64_t Random(uint64_t key, uint64_t n) { return SplitMix(key + (n + 1) * kSplitMixStep); }

// The nearest bf16, ties to even, of a finite number.
inline uint16_t RoundToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace penstock::k3
