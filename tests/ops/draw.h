#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/isa.h"
#include "ops/kernels/kernels.h"

// Random cases of the operator tests. The seed is GoogleTest's (--gtest_random_seed=N repeats a
// run); say it with SCOPED_TRACE(draw.Seed()).
namespace penstock::ops {

class Draw {
 public:
  explicit Draw(uint32_t salt = 0)
      : seed_(::testing::UnitTest::GetInstance()->random_seed()),
        engine_(static_cast<uint32_t>(seed_) * 7919u + salt) {}

  std::string Seed() const { return "--gtest_random_seed=" + std::to_string(seed_); }
  std::mt19937& engine() { return engine_; }

  size_t Size(size_t low, size_t high) {
    return std::uniform_int_distribution<size_t>(low, high)(engine_);
  }
  float Normal(float sigma = 1) { return std::normal_distribution<float>(0, sigma)(engine_); }
  std::vector<float> Normals(size_t n, float sigma = 1) {
    std::vector<float> values(n);
    for (float& value : values) value = Normal(sigma);
    return values;
  }
  uint16_t Bf16(float sigma = 1) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(Normal(sigma)) >> 16);
  }
  std::vector<uint16_t> Bf16s(size_t n, float sigma = 1) {
    std::vector<uint16_t> values(n);
    for (uint16_t& value : values) value = Bf16(sigma);
    return values;
  }
  std::vector<uint8_t> Bytes(size_t n, int low = 0, int high = 255) {
    std::uniform_int_distribution<int> byte(low, high);
    std::vector<uint8_t> values(n);
    for (uint8_t& value : values) value = static_cast<uint8_t>(byte(engine_));
    return values;
  }

 private:
  int seed_;
  std::mt19937 engine_;
};

// Every record this machine can run.
inline std::vector<const Kernels*> RunnableKernels() {
  std::vector<const Kernels*> all = KernelsHere();
  std::reverse(all.begin(), all.end());
  return all;
}

inline std::string KernelsName(const ::testing::TestParamInfo<const Kernels*>& info) {
  return info.param->name;
}

inline std::vector<double> Widen(std::span<const float> x) {
  return std::vector<double>(x.begin(), x.end());
}

// The values at an address that is 2 modulo 4, as a tensor in a file may be.
template <class T>
class OddPlace {
 public:
  explicit OddPlace(const std::vector<T>& values) : bytes_(values.size() * sizeof(T) + 8) {
    const auto start = reinterpret_cast<uintptr_t>(bytes_.data());
    place_ = bytes_.data() + (6 - start % 4) % 4;
    if (!values.empty()) __builtin_memcpy(place_, values.data(), values.size() * sizeof(T));
  }
  const T* data() const { return reinterpret_cast<const T*>(place_); }

 private:
  std::vector<unsigned char> bytes_;
  unsigned char* place_;
};

// Bits equal, or both NaN.
inline ::testing::AssertionResult SameBits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != a[i] && b[i] != b[i]) continue;
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << a.size() << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// |got - want| <= relative * scale, element by element, where scale is `magnitude[i]` (for a sum:
// the sum of its terms' magnitudes).
inline ::testing::AssertionResult Within(std::span<const float> got, std::span<const double> want,
                                         std::span<const double> magnitude, double relative) {
  if (got.size() != want.size() || got.size() != magnitude.size()) {
    return ::testing::AssertionFailure() << "sizes differ";
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - want[i]);
    if (!(error <= relative * magnitude[i] + 0x1p-149)) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << got.size() << ": got " << got[i] << ", expected "
             << want[i] << ", error " << error / magnitude[i] << " of the magnitude, allowed "
             << relative;
    }
  }
  return ::testing::AssertionSuccess();
}

// The same relative to each expected value.
inline ::testing::AssertionResult Within(std::span<const float> got, std::span<const double> want,
                                         double relative) {
  std::vector<double> magnitude;
  for (double value : want) magnitude.push_back(std::abs(value));
  return Within(got, want, magnitude, relative);
}

inline constexpr double kUlp = 0x1p-24;  // Half a unit in the last place, relative: one rounding.

}  // namespace penstock::ops
