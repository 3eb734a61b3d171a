// Where the time of real steps goes: engines whose bound is known are asked for it.
#include <chrono>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "models/k3/engine.h"
#include "models/k3/step/verdict.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

struct AttributedRun {
  std::vector<StepStats> steps;
  Figures run;
  std::vector<float> logits;
};

// What a test makes slow must stay slower than the arithmetic, which TSan slows down most.
#if defined(__SANITIZE_THREAD__)
constexpr const char* kSlowDevice = "4M";
constexpr const char* kDelayedRead = "delay=800ms@layer=";
#else
constexpr const char* kSlowDevice = "40M";
constexpr const char* kDelayedRead = "delay=40ms@layer=";
#endif

// Steps of a sequence or, with `again`, the first one again and again.
AttributedRun RunSteps(PipelineOptions options, const io::IoOptions& io_options, size_t steps = 6,
                       StepObserver* observer = nullptr, bool again = false) {
  AttributedRun ran;
  if (options.pin == "auto") options.pin = "0";  // The trunk streams.
  auto engine = Engine::Open(kTiny, 16, options, io_options, nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  if (!engine) return ran;
  (*engine)->Observe(observer);
  text::StateRef state = (*engine)->EmptyState();
  for (size_t i = 0; i < steps; ++i) {
    const auto id = static_cast<text::TokenId>(again ? 5 : 5 + i);
    auto step = (*engine)->Step(state, std::span(&id, 1));
    EXPECT_TRUE(step.has_value()) << step.error().message;
    if (!step) break;
    if (!again) state = step->after.back();
    ran.logits.assign(step->logits.begin(), step->logits.end());
    ran.steps.push_back((*engine)->last_step());
    ran.run.Add(ran.steps.back().figures);
  }
  (*engine)->Observe(nullptr);
  return ran;
}

// Whatever the engine, the causes of each step are its wall time.
TEST(Attribution, CausesSumToTheStep) {
  for (const char* engine : {"memory", "pread"}) {
    io::IoOptions io_options;
    io_options.ioengine = engine;
    for (const StepStats& step : RunSteps({}, io_options).steps) {
      EXPECT_EQ(
          std::accumulate(step.figures.causes.begin(), step.figures.causes.end(), uint64_t{0}),
          step.t_ns);
      EXPECT_GT(step.figures.of(Cause::kCompute), 0u);
      EXPECT_GT(step.figures.overlap(), 0);
      EXPECT_LE(step.figures.overlap(), 1);
    }
  }
}

TEST(Attribution, APacedDeviceBoundsTheStep) {
  io::IoOptions io_options = FromMemory(kSlowDevice);
  io_options.bs.bytes = 4096;
  io_options.iodepth = 2;
  const AttributedRun ran = RunSteps({}, io_options, 4);
  ASSERT_EQ(ran.steps.size(), 4u);
  const Verdict verdict = Judge(ran.run, "run");
  EXPECT_EQ(verdict.bound, Bound::kDevice) << verdict.sentence;
  const io::DeviceStats& device = *ran.run.busiest();
  EXPECT_GT(device.full_ns, ran.run.wall_ns / 2);
  EXPECT_GE(device.busy_ns, device.full_ns);
  EXPECT_GT(ran.run.of(Cause::kDevice) + ran.run.of(Cause::kExpertWait), ran.run.wall_ns / 2);
  EXPECT_NE(verdict.sentence.find(device.name), std::string::npos);
}

// Everything pinned or in the cache, and slow kernels on one thread: nothing is left to wait for.
TEST(Attribution, WithoutReadsComputingBoundsTheStep) {
  PipelineOptions options;
  options.pin = "99";
  options.expert_cache.bytes = 64 << 20;
  options.isa = "scalar";
  options.threads = 1;
  const AttributedRun ran = RunSteps(options, FromMemory(), 8, nullptr, true);
  Figures quiet;  // All but the first, which fetches the experts.
  for (const StepStats& step : ran.steps) {
    if (step.expert_misses == 0) quiet.Add(step.figures);
  }
  ASSERT_EQ(quiet.steps, 7u);
  EXPECT_EQ(quiet.of(Cause::kExpertWait) + quiet.of(Cause::kRingFull) +
                quiet.of(Cause::kRingEmpty) + quiet.of(Cause::kDecode),
            0u);
  const Verdict verdict = Judge(quiet, "run");
  EXPECT_EQ(verdict.bound, Bound::kCompute) << verdict.sentence;
  EXPECT_NE(verdict.sentence.find("of 1 threads"), std::string::npos);
}

// The tag of a read is its layer, which the verdict has to name.
TEST(FaultAttribution, ADelayedReadIsNamedWithItsLayer) {
  for (const char* layer : {"1", "2"}) {
    io::IoOptions io_options = FromMemory();
    io_options.fault = std::string(kDelayedRead) + layer;
    const AttributedRun ran = RunSteps({}, io_options, 2);
    const Verdict verdict = Judge(ran.run, "run");
    EXPECT_EQ(verdict.bound, Bound::kDeviceDelay) << verdict.sentence;
    EXPECT_NE(verdict.sentence.find(std::string("layer ") + layer), std::string::npos)
        << verdict.sentence;
    EXPECT_EQ(ran.logits, RunSteps({}, FromMemory(), 2).logits);
  }
}

// Keeps every body of one node for so long.
struct Delay : StepObserver {
  Delay(std::string node_in, int ms_in) : node(std::move(node_in)), ms(ms_in) {}
  void Begins(const graph::NodeFacts& facts, graph::Subject* /*subject*/) override {
    if (facts.name == node) std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
  std::string node;
  int ms;
};

TEST(FaultAttribution, ADelayedNodeIsNamed) {
  // More than everything else takes, also under a sanitizer and beside other tests.
  const std::pair<const char*, int> delays[] = {{"gate", 100}, {"commit", 300}, {"advance", 3}};
  const AttributedRun plain = RunSteps({}, FromMemory(), 3);
  for (const auto& [node, ms] : delays) {
    Delay delay(node, ms);
    const AttributedRun ran = RunSteps({}, FromMemory(), 3, &delay);
    EXPECT_EQ(ran.logits, plain.logits);
    const Verdict verdict = Judge(ran.run, "run");
    EXPECT_EQ(verdict.bound, Bound::kNode) << verdict.sentence;
    EXPECT_NE(verdict.sentence.find(node), std::string::npos) << verdict.sentence;
  }
}

}  // namespace
}  // namespace penstock::k3
