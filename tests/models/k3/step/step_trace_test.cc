#include "models/k3/step/step_trace.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "models/k3/engine.h"
#include "runtime/options/options.h"
#include "tests/models/k3/tiny_model.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

TEST(TraceSteps, AreOneOrARange) {
  const auto expect = [](std::string_view text, uint64_t steps, uint64_t first, uint64_t last) {
    const auto range = ParseTraceSteps(text, steps);
    ASSERT_TRUE(range.has_value()) << text;
    EXPECT_EQ(range->first, first) << text;
    EXPECT_EQ(range->last, last) << text;
  };
  expect("3-5", 100, 3, 5);
  expect("7", 100, 7, 7);
  expect("0-4294967296", 2, 0, 4294967296);
  expect("", 100, 2, 4);
  expect("", 4, 2, 3);
  expect("", 2, 0, 1);
  expect("", 0, 0, 0);
  for (const char* text : {"5-3", "x", "3-", "-3", "3-5x", "3,5", " 3", "100", "100-200", "-"}) {
    const auto range = ParseTraceSteps(text, 100);
    ASSERT_FALSE(range.has_value()) << text;
    EXPECT_EQ(range.error().code, ErrorCode::kRefused);
  }
}

// Steps of a real engine with a trace of some of them.
Json TraceOf(PipelineOptions options, TraceSteps range, size_t steps) {
  io::IoOptions io_options;
  io_options.ioengine = "pread";
  if (options.pin == "auto") options.pin = "0";  // The trunk streams.
  auto engine = Engine::Open(kTiny, 16, options, io_options, nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  StepTrace trace((*engine)->Traced(), range);
  (*engine)->Observe(&trace);
  text::StateRef state = (*engine)->EmptyState();
  for (text::TokenId id = 5; id < 5 + steps; ++id) {
    auto step = (*engine)->Step(state, std::span(&id, 1));
    EXPECT_TRUE(step.has_value());
    state = step->after.back();
  }
  (*engine)->Observe(nullptr);
  engine->reset();
  EXPECT_EQ(trace.trace().dropped(), 0u);
  std::string text;
  EXPECT_TRUE(trace.trace()
                  .Write([&](std::string_view piece) -> Status {
                    text += piece;
                    return {};
                  })
                  .has_value());
  return Json::parse(text);
}

struct Lanes {
  explicit Lanes(const Json& trace) {
    std::map<int, std::string> lane_names;
    for (const Json& event : trace["traceEvents"]) {
      if (event["name"] == "thread_name") lane_names[event["tid"]] = event["args"]["name"];
    }
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] == "C") counters.insert(event["name"].get<std::string>());
      if (event["ph"] != "X") continue;
      spans[lane_names.at(event["tid"])].push_back(event);
    }
  }
  std::map<std::string, std::vector<Json>> spans;
  std::set<std::string> counters;
};

void ExpectNested(const std::vector<Json>& spans) {
  double end = 0;
  for (const Json& span : spans) {
    EXPECT_GE(span["ts"].get<double>(), end - 1e-3) << "bodies of one slot follow each other";
    end = span["ts"].get<double>() + span["dur"].get<double>();
  }
}

TEST(StepTrace, ShowsTheChosenStepsOnTheirLanes) {
  PipelineOptions options;
  options.threads = 2;
  const Lanes lanes(TraceOf(options, {1, 2}, 5));
  const auto& steps = lanes.spans.at("steps");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["args"]["n"], 1);
  EXPECT_EQ(steps[1]["args"]["n"], 2);
  const double begin = steps[0]["ts"];
  const double end = steps[1]["ts"].get<double>() + steps[1]["dur"].get<double>();

  std::map<std::string, size_t> bodies;
  std::set<int> product_layers;
  size_t experts = 0;
  for (const char* lane : {"compute 0", "compute 1"}) {
    if (!lanes.spans.contains(lane)) continue;
    ExpectNested(lanes.spans.at(lane));
    for (const Json& span : lanes.spans.at(lane)) {
      ++bodies[span["name"]];
      EXPECT_GE(span["ts"].get<double>() + span["dur"].get<double>(), begin);
      EXPECT_LE(span["ts"], end);
      if (span["name"] == "product") {
        EXPECT_TRUE(span["args"].contains("extent"));
        product_layers.insert(span["args"]["layer"].get<int>());
      }
      if (span["name"] == "expert") experts += span["args"].contains("expert") ? 1 : 0;
      if (span["name"] == "mix") {
        EXPECT_TRUE(span["args"].contains("layer"));
      }
    }
  }
  const Config config = *ReadConfig(kTiny);
  size_t moe_layers = 0;
  for (size_t layer = 0; layer < config.shape.layers; ++layer) {
    moe_layers += config.shape.IsMoe(layer) ? 1 : 0;
  }
  EXPECT_EQ(product_layers.size(), config.shape.layers + 1) << "the head is one more";
  EXPECT_EQ(experts, 2 * moe_layers * config.shape.top_k);
  EXPECT_EQ(bodies["commit"], 2u);
  EXPECT_EQ(bodies["combine"], 4 * config.shape.layers);
}

TEST(StepTrace, ShowsTheReadsOfTheDevicesAndTheirCounters) {
  PipelineOptions options;
  options.predict = "off";
  const Lanes lanes(TraceOf(options, {0, 3}, 4));
  std::set<std::string> kinds;
  size_t reads = 0;
  for (const auto& [lane, spans] : lanes.spans) {
    if (lane == "steps" || lane.starts_with("compute")) continue;
    ExpectNested(spans);
    for (const Json& span : spans) kinds.insert(span["name"].get<std::string>());
    reads += spans.size();
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"demanded read", "trunk read"}));
  EXPECT_GT(reads, 100u);
  EXPECT_TRUE(lanes.counters.contains("ring in use"));
  size_t in_flight = 0, bandwidth = 0;
  for (const std::string& counter : lanes.counters) {
    in_flight += counter.ends_with(" in flight") ? 1 : 0;
    bandwidth += counter.ends_with(" bandwidth") ? 1 : 0;
  }
  EXPECT_EQ(in_flight, 1u);
  EXPECT_EQ(bandwidth, 1u);
}

TEST(StepTrace, ShowsWhoDecodes) {
  const PackFolder folder;
  PipelineOptions options;
  options.pack = folder.PackTiny("chain");
  options.decode = "node";
  const Lanes lanes(TraceOf(options, {1, 1}, 3));
  size_t decoded = 0;
  for (const auto& [lane, spans] : lanes.spans) {
    if (!lane.starts_with("decode")) continue;
    ExpectNested(spans);
    for (const Json& span : spans) {
      EXPECT_EQ(span["name"], "decode stripe");
      EXPECT_TRUE(span["args"].contains("extent"));
    }
    decoded += spans.size();
  }
  EXPECT_GT(decoded, 0u);
}

}  // namespace
}  // namespace penstock::k3
