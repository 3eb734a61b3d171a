#include "ops/isa.h"

#include <chrono>
#include <string>
#include <thread>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "tests/ops/draw.h"
#include "tests/runtime/notices.h"

namespace penstock::ops {
namespace {

// A record that is scalar but for one kernel, which is off by one bit in its last element.
void OffByOneBit(const float* x, size_t n, float* y) {
  ScalarKernels().sigmoid(x, n, y);
  y[n - 1] = std::bit_cast<float>(std::bit_cast<uint32_t>(y[n - 1]) ^ 1u);
}

Kernels BrokenKernels() {
  Kernels broken = ScalarKernels();
  broken.name = "broken";
  broken.sigmoid = OffByOneBit;
  return broken;
}

TEST(Isa, AutoTakesTheBestThatRuns) {
  Notices notices;
  const auto chosen = ChooseKernels("auto", notices.Sink());
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen, KernelsHere().front());
  EXPECT_EQ(notices.All(), "");
}

TEST(Isa, ScalarByName) {
  const auto chosen = ChooseKernels("scalar", nullptr);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen, &ScalarKernels());
}

TEST(Isa, UnknownNameIsRefused) {
  for (const char* name : {"", "avx", "AVX2", "neon"}) {
    const auto chosen = ChooseKernels(name, nullptr);
    ASSERT_FALSE(chosen) << name;
    EXPECT_EQ(chosen.error().code, ErrorCode::kRefused);
  }
}

TEST(Isa, MissingIsaIsRefusedByNameAndPassedOverByAuto) {
  const IsaCandidate candidates[] = {{"wide", nullptr}, {"scalar", &ScalarKernels()}};
  const auto named = ChooseKernels("wide", candidates, nullptr);
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::kRefused);
  Notices notices;
  const auto automatic = ChooseKernels("auto", candidates, notices.Sink());
  ASSERT_TRUE(automatic);
  EXPECT_EQ(*automatic, &ScalarKernels());
  EXPECT_EQ(notices.All(), "");
}

TEST(Isa, OneWrongBitSelectsTheNextAndIsSaid) {
  const Kernels broken = BrokenKernels();
  const IsaCandidate candidates[] = {{"broken", &broken}, {"scalar", &ScalarKernels()}};
  Notices notices;
  const auto automatic = ChooseKernels("auto", candidates, notices.Sink());
  ASSERT_TRUE(automatic);
  EXPECT_EQ(*automatic, &ScalarKernels());
  ASSERT_EQ(notices.Count(""), 1u);
  EXPECT_EQ(notices.Count("broken"), 1u);
  const auto named = ChooseKernels("broken", candidates, nullptr);
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::kRefused);
}

#if defined(__SSE__)
TEST(Isa, FlushedSubnormalsAreNoticed) {
  EXPECT_TRUE(SubnormalsAreKept());
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  for (unsigned bit : {kFlushToZero, kDenormalsAreZero}) {
    bool kept = true;
    std::thread([&] {  // The mode belongs to a thread.
      _mm_setcsr(_mm_getcsr() | bit);
      kept = SubnormalsAreKept();
    })
        .join();
    EXPECT_FALSE(kept);
  }
  EXPECT_TRUE(SubnormalsAreKept());
}
#endif

}  // namespace
}  // namespace penstock::ops
