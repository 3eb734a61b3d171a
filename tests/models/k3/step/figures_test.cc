#include "models/k3/step/figures.h"

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

Figures SomeStep(uint64_t wall, uint64_t compute, uint64_t device_busy) {
  Figures step;
  step.steps = 1;
  step.wall_ns = wall;
  step.causes[static_cast<size_t>(Cause::kCompute)] = compute;
  step.causes[static_cast<size_t>(Cause::kDevice)] = wall - compute;
  step.devices.resize(2);
  step.devices[0].name = "slow";
  step.devices[1].name = "busy";
  step.devices[1].busy_ns = device_busy;
  step.devices[1].latency[0].counts[3] = 1;
  step.nodes = {{.name = "mix", .serial = true, .messages = 2, .busy_ns = 10, .longest_ns = 7}};
  return step;
}

TEST(Figures, OverlapIsOfTheBusierSide) {
  EXPECT_DOUBLE_EQ(SomeStep(100, 80, 60).overlap(), 0.8);
  EXPECT_DOUBLE_EQ(SomeStep(100, 20, 60).overlap(), 0.6);
  EXPECT_EQ(Figures().overlap(), 0);
  Figures decoding = SomeStep(100, 50, 60);
  decoding.causes[static_cast<size_t>(Cause::kDecode)] = 40;
  EXPECT_DOUBLE_EQ(decoding.overlap(), 0.9);
}

TEST(Figures, TheBusiestDeviceIsTheOneThatCounts) {
  EXPECT_EQ(SomeStep(100, 20, 60).busiest()->name, "busy");
  EXPECT_EQ(Figures().busiest(), nullptr);
}

TEST(Figures, StepsAddUp) {
  Figures run;
  run.Add(SomeStep(100, 80, 60));
  Figures second = SomeStep(50, 10, 50);
  second.nodes[0].longest_ns = 9;
  second.slowest = {.ns = 5, .device = 1, .tag = 3};
  second.slowest_ns = 5;
  second.ring_stops = 4;
  run.Add(second);
  run.Add(SomeStep(10, 10, 0));
  EXPECT_EQ(run.steps, 3u);
  EXPECT_EQ(run.wall_ns, 160u);
  EXPECT_EQ(run.of(Cause::kCompute), 100u);
  EXPECT_EQ(run.of(Cause::kDevice), 60u);
  ASSERT_EQ(run.devices.size(), 2u);
  EXPECT_EQ(run.devices[1].busy_ns, 110u);
  EXPECT_EQ(run.devices[1].latency[0].total(), 3u);
  ASSERT_EQ(run.nodes.size(), 1u);
  EXPECT_EQ(run.nodes[0].messages, 6u);
  EXPECT_EQ(run.nodes[0].longest_ns, 9u);
  EXPECT_EQ(run.slowest.tag, 3u);
  EXPECT_EQ(run.slowest_ns, 5u);
  EXPECT_EQ(run.ring_stops, 4u);
}

}  // namespace
}  // namespace penstock::k3
