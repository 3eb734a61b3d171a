#include "models/k3/synth/layout.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "models/k3/synth/synth.h"
#include "tests/io/safetensors/shard.h"
#include "tests/models/k3/synth/shape_of.h"

namespace penstock::k3 {
namespace {

std::vector<std::string> Names(const std::vector<SynthTensor>& tensors) {
  std::vector<std::string> names;
  for (const SynthTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

TEST(SynthLayout, PutsEachLayerIntoAShardAndTheEndsIntoTheLast) {
  const Shape shape = ShapeOf({});
  const SynthLayout layout(shape, "language_model.", true);
  ASSERT_EQ(layout.shards(), 10u);
  EXPECT_EQ(layout.FileName(0), "model-00001-of-000010.safetensors");
  EXPECT_EQ(layout.FileName(9), "model-00010-of-000010.safetensors");
  std::set<std::string> seen;
  for (size_t shard = 0; shard < layout.shards(); ++shard) {
    const std::string base = "language_model.model.layers." + std::to_string(shard) + ".";
    for (const SynthTensor& tensor : layout.Shard(shard)) {
      EXPECT_EQ(tensor.name.starts_with(base), shard < 9) << tensor.name;
      EXPECT_TRUE(seen.insert(tensor.name).second) << tensor.name;
    }
  }
  EXPECT_EQ(seen.size(), 1770u);
  EXPECT_EQ(Names(layout.Shard(9)).size(), 5u);
}

// The trunk of a layer is one run, the experts follow in the order of their numbers as text.
TEST(SynthLayout, OrdersExpertsAsTheRelease) {
  const Shape shape = ShapeOf({});
  std::vector<std::string> experts;
  for (const std::string& name : Names(SynthLayout(shape, "", true).Shard(1))) {
    const size_t at = name.find(".experts.");
    if (at != std::string::npos) {
      experts.push_back(name.substr(at + 9));
    } else {
      EXPECT_TRUE(experts.empty()) << name;
    }
  }
  ASSERT_EQ(experts.size(), 32u * 6);
  EXPECT_EQ(
      (std::vector<std::string>(experts.begin(), experts.begin() + 7)),
      (std::vector<std::string>{"0.w1.weight_packed", "0.w1.weight_scale", "0.w2.weight_packed",
                                "0.w2.weight_scale", "0.w3.weight_packed", "0.w3.weight_scale",
                                "1.w1.weight_packed"}));
  EXPECT_EQ(experts[12], "10.w1.weight_packed");  // Behind expert 1.
  EXPECT_EQ(experts.back(), "9.w3.weight_scale");
}

TEST(SynthLayout, PadsALogOnlyWhenAsked) {
  const Shape shape = ShapeOf({});
  for (const bool padding : {false, true}) {
    const auto tensors = SynthLayout(shape, "", padding).Shard(0);
    const auto a_log = std::find_if(tensors.begin(), tensors.end(),
                                    [](const SynthTensor& t) { return t.name.ends_with("A_log"); });
    ASSERT_NE(a_log, tensors.end());
    EXPECT_EQ(a_log->dims, std::vector<uint64_t>{padding ? 64u : 3u});
    EXPECT_EQ(a_log->recipe.used, 3u);
  }
}

}  // namespace
}  // namespace penstock::k3
