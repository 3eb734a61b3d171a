#include "models/k3/state/kda_layout.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

TEST(KdaLayout, PartsOfAnEntryFillItWithoutOverlap) {
  const KdaLayout layout{3, 5, 4};
  std::vector<float> memory(layout.entry_floats());
  for (size_t head = 0; head < layout.heads; ++head) {
    const KdaEntry entry(layout, memory.data(), head);
    for (float* part : {entry.q, entry.k, entry.v, entry.alpha}) {
      for (size_t i = 0; i < layout.width; ++i) part[i] += 1;
    }
    *entry.beta += 1;
  }
  for (const float value : memory) EXPECT_EQ(value, 1.0f);
}

// What serial decoding does: convolve with the history, normalise, step from one memory to another,
// move the histories on.
TEST(KdaLayout, AdvancingInPlaceGivesTheBitsOfAStepFromACopy) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  const ops::Kernels& kernels = ops::ScalarKernels();
  for (const size_t taps : {1u, 2u, 4u}) {
    const KdaLayout layout{1, 6, taps};
    const size_t d = layout.width;
    const auto fill = [&](size_t n) {
      std::vector<float> values(n);
      for (float& value : values) value = draw(random);
      return values;
    };
    const std::vector<float> before = fill(layout.head_floats());
    std::vector<float> memory = fill(layout.entry_floats());
    const KdaEntry entry(layout, memory.data(), 0);
    const std::vector<float> k_taps = fill(d * taps);
    const std::vector<float> v_taps = fill(d * taps);

    std::vector<float> want = before;
    std::vector<float> k(d), v(d), out(d);
    const size_t kept = layout.history_floats();
    kernels.short_conv_silu(k_taps.data(), &before[d * d + kept], entry.k, d, taps, k.data());
    kernels.short_conv_silu(v_taps.data(), &before[d * d + 2 * kept], entry.v, d, taps, v.data());
    kernels.l2_normalize(k.data(), d, 1.0f, k.data());
    kernels.kda_step(before.data(), k.data(), k.data(), v.data(), entry.alpha, *entry.beta, d,
                     want.data(), out.data());
    const float* const inputs[] = {entry.q, entry.k, entry.v};
    for (size_t i = 0; i < 3 && kept > 0; ++i) {
      float* const history = want.data() + d * d + i * kept;
      std::copy_n(before.data() + d * d + i * kept + d, kept - d, history);
      std::copy_n(inputs[i], d, history + kept - d);
    }

    std::vector<float> got = before;
    std::vector<float> scratch(3 * d);
    AdvanceHead(kernels, layout, {k_taps.data(), v_taps.data()}, entry, got.data(), scratch.data());
    EXPECT_EQ(got, want) << taps << " taps";
  }
}

}  // namespace
}  // namespace penstock::k3
