#include "models/k3/engine.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

std::unique_ptr<Engine> OpenTiny(size_t context, const PipelineOptions& options = {},
                                 const io::IoOptions& io_options = {}) {
  auto engine = Engine::Open(kTiny, context, options, io_options, nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

text::TokenId Best(std::span<const float> logits) {
  return static_cast<text::TokenId>(std::max_element(logits.begin(), logits.end()) -
                                    logits.begin());
}

std::vector<float> ReadFloats(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<float> values(2048);
  file.read(reinterpret_cast<char*>(values.data()), 2048 * sizeof(float));
  return values;
}

TEST(NumericEngine, GreedyIdsAndLogitsOfTheFivePrompts) {
  const nlohmann::json expected =
      nlohmann::json::parse(std::ifstream(kTiny + "/k3-tiny-expected.json"));
  for (const auto& prompt : expected["prompts"]) {
    const auto ids = prompt["ids"].get<std::vector<text::TokenId>>();
    const auto greedy = prompt["greedy"].get<std::vector<text::TokenId>>();
    const auto engine = OpenTiny(ids.size() + greedy.size());
    ASSERT_NE(engine, nullptr);
    text::StateRef state = engine->EmptyState();
    std::vector<float> logits;
    const auto step = [&](text::TokenId id) {
      auto result = engine->Step(state, std::span(&id, 1));
      ASSERT_TRUE(result.has_value()) << result.error().message;
      state = result->after.back();
      logits.assign(result->logits.begin(), result->logits.end());
    };
    for (const auto id : ids) step(id);
    if (prompt.contains("logits_file") && !prompt["logits_file"].is_null()) {
      const auto want = ReadFloats(kTiny + "/" + prompt["logits_file"].get<std::string>());
      float largest = 0;
      float worst = 0;
      for (size_t i = 0; i < want.size(); ++i) {
        largest = std::max(largest, std::abs(want[i]));
        worst = std::max(worst, std::abs(want[i] - logits[i]));
      }
      EXPECT_LE(worst, 1e-4f * largest);
    }
    std::vector<text::TokenId> got;
    for (size_t i = 0; i < greedy.size(); ++i) {
      got.push_back(Best(logits));
      step(got.back());
    }
    EXPECT_EQ(got, greedy) << prompt["text"];
  }
}

}  // namespace
}  // namespace penstock::k3
