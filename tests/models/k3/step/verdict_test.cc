#include "models/k3/step/verdict.h"

#include <set>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

constexpr uint64_t kWall = 1'000'000'000;

// A step in which nothing stands out: each test adds what does.
struct Made : Figures {
  Made() {
    steps = 1;
    wall_ns = kWall;
    threads = 2;
    devices.resize(1);
    devices[0].name = "nvme7n1";
    devices[0].window_bytes = 8 << 20;
    devices[0].device_bytes = 6'900'000'000;
    devices[0].reads = 1000;
    devices[0].latency[1].counts[40] = 1000;  // 1024 to 1218 us.
    nodes = {{.name = "product", .arithmetic = true, .messages = 100, .busy_ns = kWall / 10},
             {.name = "advance", .serial = true, .messages = 100, .busy_ns = kWall / 50}};
    nodes[0].longest_ns = kWall / 900;
  }
  void Set(Cause cause, int percent) {
    causes[static_cast<size_t>(cause)] = kWall / 100 * static_cast<uint64_t>(percent);
  }
};

bool Says(const Verdict& verdict, std::string_view part) {
  return verdict.sentence.find(part) != std::string::npos;
}

TEST(Verdict, ADeviceThatIsFullBoundsTheStepThoughBodiesRanBesideIt) {
  Made made;
  made.Set(Cause::kDevice, 40);
  made.Set(Cause::kCompute, 60);
  made.devices[0].busy_ns = kWall;
  made.devices[0].full_ns = kWall / 100 * 97;
  const Verdict verdict = Judge(made, "step");
  EXPECT_EQ(verdict.bound, Bound::kDevice);
  for (const char* part : {"nvme7n1", "8.00 MiB", "97 %", "6.90 GB/s", "60 %", "of 2 threads"}) {
    EXPECT_TRUE(Says(verdict, part)) << part << " in " << verdict.sentence;
  }
  EXPECT_FALSE(verdict.advice.empty());
}

TEST(Verdict, ADeviceThatIsBusyButNotFullIsSaidToBe) {
  Made made;
  made.Set(Cause::kDevice, 80);
  made.Set(Cause::kCompute, 20);
  made.devices[0].busy_ns = kWall / 100 * 95;
  made.devices[0].full_ns = kWall / 100 * 12;
  const Verdict verdict = Judge(made, "step");
  EXPECT_EQ(verdict.bound, Bound::kDevice);
  EXPECT_TRUE(Says(verdict, "95 %") && Says(verdict, "12 %")) << verdict.sentence;
  EXPECT_NE(verdict.advice.find("--ring"), std::string::npos);
}

TEST(Verdict, BodiesThatRunAllTheTimeBoundIt) {
  Made made;
  made.Set(Cause::kCompute, 98);
  made.Set(Cause::kGraph, 2);
  made.body_ns = kWall / 100 * 196;
  made.nodes[0].busy_ns = kWall / 100 * 147;
  made.devices[0].busy_ns = kWall / 100 * 59;
  const Verdict verdict = Judge(made, "step");
  EXPECT_EQ(verdict.bound, Bound::kCompute);
  for (const char* part : {"98 %", "2.0 of 2 threads", "idle for 41 %", "product", "75 %"}) {
    EXPECT_TRUE(Says(verdict, part)) << part << " in " << verdict.sentence;
  }
}

TEST(Verdict, DecodingIsToldFromOtherArithmetic) {
  Made made;
  made.Set(Cause::kDecode, 55);
  made.Set(Cause::kCompute, 40);
  EXPECT_EQ(Judge(made, "step").bound, Bound::kDecode);
  made.Set(Cause::kDecode, 40);
  made.Set(Cause::kCompute, 55);
  EXPECT_EQ(Judge(made, "step").bound, Bound::kCompute);
}

TEST(Verdict, ASerialNodeThatTakesMostOfTheStepIsNamed) {
  Made made;
  made.Set(Cause::kGraph, 90);
  made.nodes[1].busy_ns = kWall / 100 * 83;
  made.nodes[1].longest_ns = 20'100'000;
  const Verdict verdict = Judge(made, "step");
  EXPECT_EQ(verdict.bound, Bound::kNode);
  for (const char* part : {"advance", "83 %", "20.1 ms", "100 messages"}) {
    EXPECT_TRUE(Says(verdict, part)) << part << " in " << verdict.sentence;
  }
  made.devices[0].busy_ns = made.devices[0].full_ns = kWall / 100 * 95;
  EXPECT_EQ(Judge(made, "step").bound, Bound::kDevice) << "the device was full for longer";
}

TEST(Verdict, OneLongBodyOfAWideNodeIsLatencyButManyAreCompute) {
  Made made;
  made.Set(Cause::kCompute, 95);
  made.nodes[0].busy_ns = kWall / 100 * 90;
  made.nodes[0].longest_ns = kWall / 100 * 70;
  EXPECT_EQ(Judge(made, "step").bound, Bound::kNode);
  made.nodes[0].messages = 5;  // The others took 5 % each: a long one, but no delay.
  made.nodes[0].busy_ns = kWall / 100 * 190;
  EXPECT_EQ(Judge(made, "step").bound, Bound::kCompute);
}

TEST(Verdict, ASlowReadIsNamedWithItsLayer) {
  Made made;
  made.Set(Cause::kDevice, 80);
  made.Set(Cause::kCompute, 20);
  made.devices[0].busy_ns = kWall / 100 * 95;
  made.slowest = {.ns = kWall / 100 * 60,
                  .tag = 17,
                  .read_class = io::ReadClass::kTrunk,
                  .usual_ns = 1'218'000};
  made.slowest_ns = made.slowest.ns;
  const Verdict verdict = Judge(made, "step");
  EXPECT_EQ(verdict.bound, Bound::kDeviceDelay);
  for (const char* part : {"nvme7n1", "layer 17", "600.0 ms", "1.2 ms", "trunk"}) {
    EXPECT_TRUE(Says(verdict, part)) << part << " in " << verdict.sentence;
  }
  made.slowest_ns = kWall / 100 * 39;  // Of all steps together less than half of the waits.
  EXPECT_EQ(Judge(made, "step").bound, Bound::kDevice);
  made.slowest_ns = kWall / 100 * 60;
  made.slowest.ns = 3 * 1'218'000;  // No more than others take.
  EXPECT_EQ(Judge(made, "step").bound, Bound::kDevice);
}

TEST(Verdict, WaitingInManyPartsIsStillWaiting) {
  Made made;
  made.Set(Cause::kCompute, 35);
  made.Set(Cause::kDevice, 33);
  made.Set(Cause::kExpertWait, 32);
  EXPECT_EQ(Judge(made, "step").bound, Bound::kReadAhead);
  made.Set(Cause::kDevice, 31);
  made.Set(Cause::kExpertWait, 34);
  EXPECT_EQ(Judge(made, "step").bound, Bound::kExperts);
  // Bodies ran most of the time, and yet a third of it could be gained.
  made.Set(Cause::kDevice, 0);
  made.Set(Cause::kCompute, 62);
  made.Set(Cause::kExpertWait, 38);
  EXPECT_EQ(Judge(made, "step").bound, Bound::kExperts);
  made.Set(Cause::kCompute, 80);
  made.Set(Cause::kExpertWait, 20);
  EXPECT_EQ(Judge(made, "step").bound, Bound::kCompute);
}

TEST(Verdict, NothingWaitsForThePredictNode) {
  Made made;
  made.Set(Cause::kCompute, 100);
  made.nodes.push_back({.name = "predict", .serial = true, .messages = 5, .busy_ns = kWall});
  EXPECT_EQ(Judge(made, "step").bound, Bound::kCompute);
}

TEST(Verdict, ElseTheLargestCauseBoundsIt) {
  const std::pair<Cause, Bound> expected[] = {
      {Cause::kDevice, Bound::kReadAhead},   {Cause::kSubmit, Bound::kSubmit},
      {Cause::kDecode, Bound::kDecode},      {Cause::kCompute, Bound::kCompute},
      {Cause::kRingFull, Bound::kRing},      {Cause::kRingEmpty, Bound::kDepth},
      {Cause::kExpertWait, Bound::kExperts}, {Cause::kGraph, Bound::kGraph},
      {Cause::kOther, Bound::kGraph}};
  std::set<std::string> sentences;
  for (const auto& [cause, bound] : expected) {
    Made made;
    made.Set(Cause::kCompute, 30);
    made.Set(cause, 41);
    made.ring_stops = 123;
    const Verdict verdict = Judge(made, "step");
    EXPECT_EQ(verdict.bound, bound) << CauseName(cause);
    EXPECT_TRUE(Says(verdict, "41 %")) << verdict.sentence;
    EXPECT_FALSE(verdict.advice.empty());
    sentences.insert(verdict.sentence);
    if (bound == Bound::kRing) {
      EXPECT_TRUE(Says(verdict, "123 times"));
    }
  }
  EXPECT_GE(sentences.size(), 8u);
}

TEST(Verdict, NothingKnownIsNoMistake) {
  EXPECT_EQ(Judge({}, "run").bound, Bound::kNothing);
  Figures bare;
  bare.wall_ns = kWall;
  bare.causes[0] = kWall;  // The device, without one.
  EXPECT_EQ(Judge(bare, "run").bound, Bound::kReadAhead);
}

TEST(Verdict, BoundsHaveDifferentNames) {
  std::set<std::string_view> names;
  for (uint8_t b = 0; b <= static_cast<uint8_t>(Bound::kGraph); ++b) {
    names.insert(BoundName(static_cast<Bound>(b)));
  }
  EXPECT_EQ(names.size(), 12u);
}

}  // namespace
}  // namespace penstock::k3
