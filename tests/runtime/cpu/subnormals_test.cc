#include "runtime/cpu/subnormals.h"

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace penstock {
namespace {

float Halve(float value) {
  volatile float runtime_value = value;  // Not folded at compile time.
  return runtime_value * 0.5f;
}

TEST(Subnormals, AreKeptAgainAfterAThreadHadThemFlushed) {
  EXPECT_TRUE(SubnormalsKept());
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
  EXPECT_FALSE(SubnormalsKept());
  EXPECT_EQ(Halve(1.2e-38f), 0.0f);
#endif
  KeepSubnormals();
  EXPECT_TRUE(SubnormalsKept());
  EXPECT_GT(Halve(1.2e-38f), 0.0f);
}

}  // namespace
}  // namespace penstock
