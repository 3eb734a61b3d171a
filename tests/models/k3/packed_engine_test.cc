// The engine on packs: what a step gives is the same in every form, also after faults.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "models/k3/engine.h"
#include "tests/models/k3/allocation.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

std::unique_ptr<Engine> OpenPackedTiny(size_t context, const PipelineOptions& options,
                                       const io::IoOptions& io_options = {}) {
  auto engine = Engine::Open(kTiny, context, options, io_options, nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

PipelineOptions Packed(const std::string& pack, const char* decode) {
  PipelineOptions options;
  options.pin = "0";
  options.pack = pack;
  options.decode = decode;
  options.expert_cache.bytes = 64 << 10;
  return options;
}

// Logits of some steps, one after another; `on_failure` sees each step that did not end well, which
// is then tried again.
std::vector<float> LogitsOf(Engine& engine, std::initializer_list<text::TokenId> ids,
                            const std::function<void(const Error&)>& on_failure) {
  std::vector<float> logits;
  text::StateRef state = engine.EmptyState();
  for (const text::TokenId id : ids) {
    auto step = engine.Step(state, std::span(&id, 1));
    for (int tries = 0; !step && tries < 5; ++tries) {
      on_failure(step.error());
      step = engine.Step(state, std::span(&id, 1));
    }
    if (!step) return {};
    state = step->after.back();
    logits.insert(logits.end(), step->logits.begin(), step->logits.end());
  }
  return logits;
}

void Unexpected(const Error& error) { ADD_FAILURE() << error.message; }

class FaultPackedEngine : public testing::TestWithParam<const char*> {};

TEST_P(FaultPackedEngine, AReadErrorEndsTheStepAndTheNextOneGoesOn) {
  const PackFolder folder;
  const std::string pack = folder.PackTiny("chain");
  const auto clean = OpenPackedTiny(4, {});
  const std::vector<float> expected = LogitsOf(*clean, {5, 6, 7}, Unexpected);
  for (const char* fault : {"eio@200", "eio@260", "eio@300"}) {
    io::IoOptions io_options;
    io_options.fault = fault;
    PipelineOptions options = Packed(pack, GetParam());
    options.ring.bytes = 2 * kMiB;
    const auto engine = OpenPackedTiny(4, options, io_options);
    int failures = 0;
    const auto logits = LogitsOf(*engine, {5, 6, 7}, [&](const Error& error) {
      ++failures;
      EXPECT_EQ(error.code, ErrorCode::kFailed) << error.message;
    });
    EXPECT_EQ(failures, 1) << fault;
    EXPECT_TRUE(logits == expected) << fault;
  }
}

TEST_P(FaultPackedEngine, ACancelledStepLeavesTheStateAsItWas) {
  const PackFolder folder;
  const auto clean = OpenPackedTiny(4, {});
  const std::vector<float> expected = LogitsOf(*clean, {5, 6}, Unexpected);
  io::IoOptions slow;
  slow.pace = "40M";
  const auto engine = OpenPackedTiny(4, Packed(folder.PackTiny("chain"), GetParam()), slow);
  const text::TokenId first = 5;
  const text::TokenId second = 6;
  auto step = engine->Step(engine->EmptyState(), std::span(&first, 1));
  ASSERT_TRUE(step.has_value());
  const text::StateRef state = step->after.back();
  for (const int after_ms : {0, 5, 20, 45}) {
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
      engine->Cancel();
    });
    step = engine->Step(state, std::span(&second, 1));
    canceller.join();
    ASSERT_FALSE(step.has_value());
    EXPECT_EQ(step.error().code, ErrorCode::kCancelled);
  }
  step = engine->Step(state, std::span(&second, 1));
  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_EQ(std::memcmp(step->logits.data(), expected.data() + step->logits.size(),
                        step->logits.size_bytes()),
            0);
}

TEST_P(FaultPackedEngine, ACorruptStripeStopsTheRunAndIsNamedWithFileAndOffset) {
  const PackFolder folder;
  const std::string pack = folder.PackTiny("chain");
  const auto opened = *io::Pack::Open(pack);
  const size_t bad = opened->manifest().stripes.size() / 2;
  const io::Stripe& stripe = opened->manifest().stripes[bad];
  {
    std::fstream file(opened->stripes_path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(stripe.offset + stripe.stored_bytes / 2));
    const char byte = 0x5a;
    file.write(&byte, 1).write(&byte, 1);
  }
  const auto engine = OpenPackedTiny(2, Packed(pack, GetParam()));
  const text::TokenId id = 5;
  const auto step = engine->Step(engine->EmptyState(), std::span(&id, 1));
  ASSERT_FALSE(step.has_value());
  EXPECT_EQ(step.error().code, ErrorCode::kFailed);
  for (const std::string& part : {opened->stripes_path(), "stripe " + std::to_string(bad),
                                  "offset " + std::to_string(stripe.offset)}) {
    EXPECT_NE(step.error().message.find(part), std::string::npos) << step.error().message;
  }
}

TEST_P(FaultPackedEngine, AllocatesNothingMoreInAHundredSteps) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator does not count";
#endif
  const PackFolder folder;
  const auto engine = OpenPackedTiny(100, Packed(folder.PackTiny("huffman"), GetParam()));
  EXPECT_LE(GrowthInAHundredSteps(*engine), 100u * 32);
}

INSTANTIATE_TEST_SUITE_P(Places, FaultPackedEngine, testing::Values("node", "fused"),
                         [](const auto& param) { return std::string(param.param); });

TEST(PackedEngine, NodesRunOnOneCpu) {
  const PackFolder folder;
  const std::string pack = folder.PackTiny("chain");
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const auto engine = OpenPackedTiny(4, Packed(pack, "node"));
  EXPECT_FALSE(LogitsOf(*engine, {5, 6}, Unexpected).empty());
  sched_setaffinity(0, sizeof(before), &before);
}

TEST(PackedEngine, PackedPinsHoldMoreLayersOfTheSameBytes) {
  const PackFolder folder;
  const std::string pack = folder.PackTiny("chain");
  PipelineOptions options = Packed(pack, "fused");
  options.pin = "3M";
  options.pin_format = "raw";
  const auto raw = OpenPackedTiny(2, options);
  options.pin_format = "packed";
  const auto packed = OpenPackedTiny(2, options);
  options.pin_format = "auto";
  const auto chosen = OpenPackedTiny(2, options);
  EXPECT_GT(packed->plan().pinned_layers, raw->plan().pinned_layers);
  EXPECT_EQ(chosen->plan().pinned_layers, packed->plan().pinned_layers);
  EXPECT_FALSE(raw->plan().pinned_packed);
  const auto expected = LogitsOf(*raw, {5, 6}, Unexpected);
  EXPECT_TRUE(LogitsOf(*packed, {5, 6}, Unexpected) == expected);

  // What is pinned is not read, and what is read are the stripes.
  for (const auto& engine : {raw.get(), packed.get()}) {
    const auto opened = *io::Pack::Open(pack);
    uint64_t streamed = 0;
    const std::vector<uint32_t>& pins = engine->plan().pinned;
    for (uint32_t i = 0; i < opened->manifest().stripes.size(); ++i) {
      if (std::binary_search(pins.begin(), pins.end(), i)) continue;
      streamed += opened->manifest().stripes[i].stored_bytes;
    }
    EXPECT_EQ(engine->last_step().trunk_bytes + engine->last_step().head_bytes, streamed);
  }
  EXPECT_GT(packed->last_step().decoded_bytes, raw->last_step().decoded_bytes);
}

TEST(PackedEngine, OptionsOfAPackNeedOne) {
  for (const auto& [decode, cpus] : {std::pair{"node", ""}, {"fused", ""}, {"auto", "0"}}) {
    PipelineOptions options;
    options.decode = decode;
    options.cpus_decode = cpus;
    const auto engine = Engine::Open(kTiny, 1, options, {}, nullptr);
    ASSERT_FALSE(engine.has_value());
    EXPECT_EQ(engine.error().code, ErrorCode::kRefused);
  }
}

TEST(PackedEngine, ThePictureShowsWhereStripesAreDecoded) {
  const PackFolder folder;
  const std::string pack = folder.PackTiny("chain");
  const std::string node = "\"decode\" [shape";
  EXPECT_NE(OpenPackedTiny(1, Packed(pack, "node"))->GraphDot(false).find(node), std::string::npos);
  EXPECT_EQ(OpenPackedTiny(1, Packed(pack, "fused"))->GraphDot(false).find(node),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
