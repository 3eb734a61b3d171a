#include "tests/models/k3/oracle/reference_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <gtest/gtest.h>

#include "tests/models/k3/oracle/expectations.h"

namespace penstock::k3::oracle {
namespace {

// The reference is trusted because another evaluation, made independently of this program, agrees
// with it here. Everything else is compared with the reference.

ReferenceModel LoadTiny() {
  auto model = ReferenceModel::Load(TinyDirectory());
  if (!model) ADD_FAILURE() << model.error().message;
  return std::move(model).value();
}

std::vector<Expectation> Expectations() {
  auto expectations = ReadTinyExpectations();
  if (!expectations) ADD_FAILURE() << expectations.error().message;
  return std::move(expectations).value();
}

Vector Feed(ReferenceModel* model, const std::vector<uint32_t>& ids) {
  model->Reset();
  Vector logits;
  for (const uint32_t id : ids) logits = model->Step(id);
  return logits;
}

uint32_t Best(const Vector& logits) {
  return static_cast<uint32_t>(
      std::distance(logits.begin(), std::max_element(logits.begin(), logits.end())));
}

// The best logit minus the second best.
double Margin(Vector logits) {
  std::nth_element(logits.begin(), logits.begin() + 1, logits.end(), std::greater<>());
  return logits[0] - logits[1];
}

double RouterMargin(const ReferenceModel& model) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const auto& layer : model.trace()) {
    if (!layer.routing.experts.empty()) smallest = std::min(smallest, layer.routing.margin);
  }
  return smallest;
}

class NumericOracle : public ::testing::TestWithParam<size_t> {};

TEST_P(NumericOracle, ContinuesTheExpectedPromptsWithTheExpectedIdsAndMargins) {
  const Expectation expected = Expectations().at(GetParam());
  ReferenceModel model = LoadTiny();
  double margin = std::numeric_limits<double>::infinity();
  double router_margin = margin;
  Vector logits;
  for (const uint32_t id : expected.ids) {
    logits = model.Step(id);
    router_margin = std::min(router_margin, RouterMargin(model));
  }
  std::vector<uint32_t> greedy;
  while (greedy.size() < expected.greedy.size()) {
    margin = std::min(margin, Margin(logits));
    greedy.push_back(Best(logits));
    if (greedy.size() == expected.greedy.size()) break;
    logits = model.Step(greedy.back());
    router_margin = std::min(router_margin, RouterMargin(model));
  }
  EXPECT_EQ(greedy, expected.greedy);
  EXPECT_NEAR(margin, expected.min_margin, 1e-10);
  EXPECT_NEAR(router_margin, expected.min_router_margin, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Prompts, NumericOracle, ::testing::Range<size_t>(0, 5));

TEST(NumericOracleLogits, AgreeWithTheFilesToTheLastFloat32Bit) {
  ReferenceModel model = LoadTiny();
  size_t compared = 0;
  for (const Expectation& expected : Expectations()) {
    if (expected.logits.empty()) continue;
    const Vector logits = Feed(&model, expected.ids);
    for (size_t i = 0; i < logits.size(); ++i) {
      ASSERT_EQ(static_cast<float>(logits[i]), expected.logits[i]) << expected.text << " id " << i;
      ++compared;
    }
    for (const auto& [id, value] : expected.top5) EXPECT_NEAR(logits[id], value, 1e-11);
  }
  EXPECT_EQ(compared, 2 * model.vocab());
}

TEST(NumericOracleReset, ForgetsTheSequence) {
  ReferenceModel model = LoadTiny();
  const Vector first = Feed(&model, {5, 6, 7});
  EXPECT_NE(model.Step(5), Feed(&model, {5}));
  EXPECT_EQ(Feed(&model, {5, 6, 7}), first);
}

TEST(NumericOracleMxfp4, DecodesEveryCodeExactly) {
  EXPECT_EQ(DecodeMxfp4(1, 127), 0.5);
  EXPECT_EQ(DecodeMxfp4(7, 128), 12);
  EXPECT_EQ(DecodeMxfp4(15, 126), -3);
  EXPECT_EQ(DecodeMxfp4(2, 0), std::ldexp(1.0, -127));
  EXPECT_TRUE(std::signbit(DecodeMxfp4(8, 127)));
  EXPECT_TRUE(std::isnan(DecodeMxfp4(0, 255)));
}

TEST(NumericOracleLoad, RefusesADirectoryWithoutAConfig) {
  const auto model = ReferenceModel::Load(TinyDirectory() + "/no-such-directory");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace penstock::k3::oracle
