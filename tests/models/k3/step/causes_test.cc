#include "models/k3/step/causes.h"

#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

constexpr uint32_t kRing = 0, kDepth = 1;  // WeightStream::Bound.

// The lists of a step, held together.
struct Lists {
  std::vector<IdleSpan> idle;
  std::vector<TimeSpan> decode, stops, reading, asked;
  StepTimes times{};

  Causes Split(uint64_t begin, uint64_t end) {
    times.begin_ns = begin;
    times.end_ns = end;
    times.idle = idle;
    times.decode = decode;
    times.stops = stops;
    times.reading = reading;
    times.asked = asked;
    std::vector<Edge> scratch;
    return Attribute(times, &scratch);
  }
};

uint64_t Of(const Causes& causes, Cause cause) { return causes[static_cast<size_t>(cause)]; }

uint64_t Sum(const Causes& causes) {
  return std::accumulate(causes.begin(), causes.end(), uint64_t{0});
}

TEST(Causes, WhatIsNotIdleIsComputing) {
  Lists lists;
  const Causes causes = lists.Split(100, 150);
  EXPECT_EQ(Of(causes, Cause::kCompute), 50u);
  EXPECT_EQ(Sum(causes), 50u);
}

TEST(Causes, DecodingInBodiesIsAShareOfTheBusyTime) {
  Lists lists;
  lists.idle = {{0, 40, kOnGraph}};
  lists.times.body_ns = 100;  // Of two threads.
  lists.times.decode_in_bodies_ns = 25;
  const Causes causes = lists.Split(0, 100);
  EXPECT_EQ(Of(causes, Cause::kDecode), 15u);
  EXPECT_EQ(Of(causes, Cause::kCompute), 45u);
  EXPECT_EQ(Of(causes, Cause::kGraph), 40u);
}

// One wait for the trunk, in which one thing after the other was the case.
TEST(Causes, AWaitForTheTrunkIsSplitByWhatWentOnMeanwhile) {
  Lists lists;
  lists.idle = {{10, 110, kOnTrunk}};
  lists.asked = {{10, 12, 0}};
  lists.reading = {{12, 40, 0}, {30, 55, 0}};  // Two devices.
  lists.stops = {{35, 75, kRing}, {75, 84, kDepth}};
  lists.decode = {{84, 97, 0}};
  const Causes causes = lists.Split(0, 130);
  EXPECT_EQ(Of(causes, Cause::kSubmit), 2u);
  EXPECT_EQ(Of(causes, Cause::kDevice), 43u);
  EXPECT_EQ(Of(causes, Cause::kRingFull), 20u);
  EXPECT_EQ(Of(causes, Cause::kRingEmpty), 9u);
  EXPECT_EQ(Of(causes, Cause::kDecode), 13u);
  EXPECT_EQ(Of(causes, Cause::kGraph), 13u);
  EXPECT_EQ(Of(causes, Cause::kCompute), 30u);
  EXPECT_EQ(Sum(causes), 130u);
}

TEST(Causes, TheKindOfTheWaitDecidesBeforeTheDevice) {
  for (const auto& [kind, cause] :
       std::vector<std::pair<uint32_t, Cause>>{{kOnEmbed, Cause::kDevice},
                                               {kOnTrunk, Cause::kDevice},
                                               {kOnExpert, Cause::kExpertWait},
                                               {kOnGraph, Cause::kGraph},
                                               {kOnEnd, Cause::kOther}}) {
    Lists lists;
    lists.idle = {{10, 30, kind}};
    lists.reading = {{0, 100, 0}};
    lists.stops = {{0, 100, kRing}};
    EXPECT_EQ(Of(lists.Split(0, 50), cause), 20u) << kind;
  }
}

TEST(Causes, AnExpertFromTheCacheIsHandedOver) {
  Lists lists;
  lists.idle = {{10, 30, kOnExpert}};
  EXPECT_EQ(Of(lists.Split(0, 50), Cause::kGraph), 20u);
}

TEST(Causes, SpansMayReachOverBothEnds) {
  Lists lists;
  lists.idle = {{0, 120, kOnTrunk}, {180, 500, kOnEnd}};
  lists.reading = {{0, 1000, 0}};
  const Causes causes = lists.Split(100, 200);
  EXPECT_EQ(Of(causes, Cause::kDevice), 20u);
  EXPECT_EQ(Of(causes, Cause::kCompute), 60u);
  EXPECT_EQ(Of(causes, Cause::kOther), 20u);
}

TEST(Causes, IdleTimeWithoutASpanIsChargedByItsKind) {
  Lists lists;
  lists.times.unlisted = {1, 2, 3, 4, 0};
  const Causes causes = lists.Split(0, 50);
  EXPECT_EQ(Of(causes, Cause::kDevice), 3u);
  EXPECT_EQ(Of(causes, Cause::kExpertWait), 3u);
  EXPECT_EQ(Of(causes, Cause::kGraph), 4u);
  EXPECT_EQ(Sum(causes), 50u);
}

TEST(Causes, HaveDifferentNames) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kCauses; ++i) names.insert(CauseName(static_cast<Cause>(i)));
  EXPECT_EQ(names.size(), kCauses);
}

// Spans that do not overlap, anywhere around the step.
std::vector<TimeSpan> RandomSpans(std::mt19937& random, uint32_t kinds) {
  std::vector<TimeSpan> spans;
  for (uint64_t at = 0; at < 1200;) {
    const uint64_t begin = at + random() % 60;
    at = begin + random() % 60;
    spans.push_back({begin, at, static_cast<uint32_t>(random() % kinds)});
  }
  return spans;
}

// Against an account of every single instant.
TEST(Causes, RandomStepsAreSplitInstantByInstant) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    Lists lists;
    for (const TimeSpan& span : RandomSpans(random, kWaits)) {
      lists.idle.push_back({span.begin_ns, span.end_ns, span.kind});
    }
    lists.decode = RandomSpans(random, 1);
    lists.stops = RandomSpans(random, 2);
    lists.asked = RandomSpans(random, 1);
    lists.reading = RandomSpans(random, 1);
    const auto more = RandomSpans(random, 1);
    lists.reading.insert(lists.reading.end(), more.begin(), more.end());
    const auto at = [](const auto& spans, uint64_t ns) {
      for (const auto& span : spans) {
        if (span.begin_ns <= ns && ns < span.end_ns) return static_cast<int>(span.kind);
      }
      return -1;
    };
    Causes expected{};
    for (uint64_t ns = 100; ns < 1000; ++ns) {
      const int waited = at(lists.idle, ns);
      const bool reading = at(lists.reading, ns) >= 0;
      const bool asked = at(lists.asked, ns) >= 0;
      const int stop = at(lists.stops, ns);
      const Cause cause = waited < 0           ? Cause::kCompute
                          : waited == kOnEnd   ? Cause::kOther
                          : waited == kOnGraph ? Cause::kGraph
                          : waited == kOnExpert
                              ? (reading || asked ? Cause::kExpertWait : Cause::kGraph)
                          : waited == kOnTrunk && at(lists.decode, ns) >= 0 ? Cause::kDecode
                          : reading                                         ? Cause::kDevice
                          : asked                                           ? Cause::kSubmit
                          : stop == static_cast<int>(kRing)                 ? Cause::kRingFull
                          : stop == static_cast<int>(kDepth)                ? Cause::kRingEmpty
                                                                            : Cause::kGraph;
      ++expected[static_cast<size_t>(cause)];
    }
    ASSERT_EQ(lists.Split(100, 1000), expected) << round;
  }
}

}  // namespace
}  // namespace penstock::k3
