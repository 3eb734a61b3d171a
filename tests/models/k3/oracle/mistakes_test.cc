#include "tests/models/k3/oracle/mistakes.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/models/k3/oracle/expectations.h"
#include "tests/models/k3/oracle/reference_model.h"

namespace penstock::k3::oracle {
namespace {

// The engine's logits must lie within this of the float64 values, relative to the largest.
constexpr double kTolerance = 1e-4;

double LargestMagnitude(const Vector& x) {
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  return largest;
}

double Difference(const Vector& a, const Vector& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest / LargestMagnitude(a);
}

Vector LogitsWith(ReferenceModel* model, const std::vector<uint32_t>& ids, Mistakes wrong) {
  model->Reset();
  model->Make(std::move(wrong));
  Vector logits;
  for (const uint32_t id : ids) logits = model->Step(id);
  return logits;
}

// The embedded checkpoint is worth comparing with only if a misread architecture shows in it, with
// room to spare above the tolerance.
TEST(NumericMistakes, EachMovesTheLogitsOfTheEmbeddedCheckpoint) {
  auto model = ReferenceModel::Load(TinyDirectory());
  ASSERT_TRUE(model) << model.error().message;
  const auto expectations = ReadTinyExpectations();
  ASSERT_TRUE(expectations) << expectations.error().message;
  const std::vector<uint32_t>& ids = expectations->front().ids;
  const Vector right = LogitsWith(&*model, ids, {});
  for (int i = 0; i < static_cast<int>(Mistake::kCount); ++i) {
    const auto mistake = static_cast<Mistake>(i);
    const double difference = Difference(right, LogitsWith(&*model, ids, {mistake}));
    if (mistake == Mistake::kLatentNormEps) {
      // Drowned by the tolerance here, because this checkpoint's latents are large. An operator
      // test with small latents has to catch it.
      EXPECT_GT(difference, 1e-12);
      EXPECT_LT(difference, kTolerance);
    } else {
      EXPECT_GT(difference, 20 * kTolerance) << "mistake " << i;
    }
  }
}

}  // namespace
}  // namespace penstock::k3::oracle
