#include "models/k3/synth/preset.h"

#include <gtest/gtest.h>

#include "models/k3/synth/layout.h"
#include "runtime/options/options.h"

namespace penstock::k3 {
namespace {

uint64_t Bytes(const std::vector<SynthTensor>& tensors, bool experts) {
  uint64_t bytes = 0;
  for (const SynthTensor& tensor : tensors) {
    if ((tensor.name.find(".experts.") != std::string::npos) == experts) bytes += tensor.bytes();
  }
  return bytes;
}

// The sizes of the released layers, counted from its tensors.
TEST(SynthPreset, TheSliceHasTheReleasedLayers) {
  SynthOptions options = PresetOptions("k3-slice");
  const auto shape = ParseShape(*SynthConfig(options), "c");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->layers, 6u);
  EXPECT_EQ(shape->kda, (std::vector<bool>{true, true, true, false, true, false}));
  const SynthLayout layout(*shape, "", true);
  constexpr uint64_t kExpert = 17547264;
  // A router has a row and a bias for each expert; the release has 896.
  const uint64_t router = (896 - 48) * (7168 * 2 + 4);
  EXPECT_EQ(Bytes(layout.Shard(0), false), 2341213184u);
  EXPECT_EQ(Bytes(layout.Shard(1), false), 1267744256u - router);
  EXPECT_EQ(Bytes(layout.Shard(3), false), 844335616u - router);
  EXPECT_EQ(Bytes(layout.Shard(1), true), 48 * kExpert);
  EXPECT_EQ(options.routes, "k3-like");
  EXPECT_EQ(options.weights, "trained");
  EXPECT_GT(PresetMeasure("k3-slice"), 0u);
}

TEST(SynthPreset, TinyChangesNothing) {
  EXPECT_EQ(OptionsToJson(PresetOptions("tiny")), OptionsToJson(SynthOptions{}));
  EXPECT_EQ(PresetMeasure("tiny"), 0u);
}

}  // namespace
}  // namespace penstock::k3
