#include "models/k3/plan/weight_bytes.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "models/k3/synth/synth.h"
#include "tests/models/k3/plan/released.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

// Everything but the rounding of reads, which depends on offsets that a shape does not tell.
void ExpectSame(const WeightBytes& assumed, const WeightBytes& measured) {
  ASSERT_EQ(assumed.pieces.size(), measured.pieces.size());
  for (size_t i = 0; i < assumed.pieces.size(); ++i) {
    const PieceBytes& a = assumed.pieces[i];
    const PieceBytes& m = measured.pieces[i];
    ASSERT_EQ(a.role, m.role) << i;
    ASSERT_EQ(a.layer, m.layer) << i;
    ASSERT_EQ(a.payload, m.payload) << i;
    ASSERT_EQ(a.raw, m.raw) << i;
    ASSERT_GE(a.buffer, m.buffer) << i;
    ASSERT_LE(a.buffer, m.buffer + assumed.alignment) << i;
  }
  EXPECT_EQ(assumed.layer_first, measured.layer_first);
  EXPECT_EQ(assumed.vector_bytes, measured.vector_bytes);
  EXPECT_EQ(assumed.final_vector_bytes, measured.final_vector_bytes);
  EXPECT_EQ(assumed.resident_bytes, measured.resident_bytes);
  EXPECT_EQ(assumed.embed_row_bytes, measured.embed_row_bytes);
  EXPECT_EQ(assumed.expert_bytes, measured.expert_bytes);
  EXPECT_GE(assumed.slot_bytes, measured.slot_bytes);
  EXPECT_LE(assumed.slot_bytes, measured.slot_bytes + 2 * assumed.alignment);
  EXPECT_EQ(assumed.moe_layers, measured.moe_layers);
  EXPECT_EQ(assumed.experts, measured.experts);
  EXPECT_EQ(assumed.top_k, measured.top_k);
}

TEST(WeightBytes, OfTheShapeAreThoseOfTheEmbeddedCheckpoint) {
  for (const size_t extent_bytes : {size_t{16} << 10, size_t{8} << 20}) {
    const TinyModel tiny(extent_bytes);
    const auto files = io::FileSet::Open(tiny.catalogue->files(), io::DirectMode::kNever, nullptr);
    ExpectSame(*AssumeWeights(tiny.shape(), extent_bytes, 0),
               MeasureWeights(*tiny.catalogue, tiny.shape(), *tiny.pass, *files));
  }
}

TEST(WeightBytes, OfTheShapeAreThoseOfAnotherCheckpoint) {
  SynthOptions options;
  options.out = testing::TempDir() + "penstock_weights_" + std::to_string(getpid());
  std::filesystem::remove_all(options.out);
  options.layers = 6;
  options.first_dense = 2;
  options.hidden = 320;
  options.vocab = 500;
  options.experts = 6;
  options.full_rank_gate = false;
  ASSERT_TRUE(Synthesize(options, {}).has_value());
  const Config config = *ReadConfig(options.out);
  const auto checkpoint = *io::Checkpoint::Open(options.out, nullptr);
  const Catalogue catalogue = *Catalogue::Build(*checkpoint, config.shape);
  const Pass pass = Pass::Build(catalogue, config.shape, 64 << 10);
  const auto files = io::FileSet::Open(catalogue.files(), io::DirectMode::kNever, nullptr);
  ExpectSame(*AssumeWeights(config.shape, 64 << 10, 0),
             MeasureWeights(catalogue, config.shape, pass, *files));
  std::filesystem::remove_all(options.out);
}

// The figures of the release, computed from its config by hand.
TEST(WeightBytes, OfTheReleaseAreItsFigures) {
  const WeightBytes weights = *AssumeWeights(ReleasedShape(), 8 << 20, 0);
  // Without the zeros that pad the A_log of 69 layers from 96 values to 128: they are not read.
  EXPECT_EQ(weights.TrunkPayload() + weights.vector_bytes, 108'811'877'376u - 69 * 32 * 4);
  EXPECT_EQ(weights.HeadPayload() + weights.final_vector_bytes, 2'348'853'248u);
  EXPECT_EQ(weights.embed_row_bytes, 14'336u);
  EXPECT_EQ(weights.expert_bytes, 17'547'264u);
  EXPECT_EQ(weights.chosen_experts() * weights.expert_bytes, 25'829'572'608u);
  EXPECT_EQ(weights.all_experts(), 82'432u);
}

TEST(WeightBytes, APackTakesItsShareAndKeepsItsRows) {
  const WeightBytes plain = *AssumeWeights(ReleasedShape(), 8 << 20, 0);
  const WeightBytes packed = *AssumeWeights(ReleasedShape(), 8 << 20, 0.667);
  ASSERT_EQ(packed.pieces.size(), plain.pieces.size());
  EXPECT_TRUE(packed.packed);
  EXPECT_NEAR(static_cast<double>(packed.TrunkPayload()),
              0.667 * static_cast<double>(plain.TrunkPayload()), 4096.0 * plain.pieces.size());
  EXPECT_EQ(packed.pieces[7].raw, plain.pieces[7].raw);
}

TEST(WeightBytes, ShapesWithoutEndAreRefused) {
  Shape shape = ReleasedShape();
  shape.layers = 10'000;
  shape.kda.assign(shape.layers, true);
  shape.kda_heads = shape.kda_width = 4096;
  shape.hidden = 1 << 20;
  EXPECT_FALSE(AssumeWeights(shape, kMiB, 0).has_value());
}

}  // namespace
}  // namespace penstock::k3
