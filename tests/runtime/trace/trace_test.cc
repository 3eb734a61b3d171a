#include "runtime/trace/trace.h"

#include <map>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/options/options.h"

namespace penstock {
namespace {

Json Written(const Trace& trace) {
  std::string text;
  EXPECT_TRUE(trace
                  .Write([&](std::string_view piece) -> Status {
                    text += piece;
                    return {};
                  })
                  .has_value());
  Json json = Json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text;
  return json;
}

std::vector<Json> Of(const Json& trace, std::string_view phase) {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) events.push_back(event);
  }
  return events;
}

std::map<int, std::string> LaneNames(const Json& trace) {
  std::map<int, std::string> names;
  for (const Json& event : Of(trace, "M")) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
  }
  return names;
}

TEST(Trace, SpansHaveTheirLaneNameTimeAndArguments) {
  Trace trace(1, 8, 1'000'000);
  const Trace::Id lane = trace.AddLane("com\"pute 0");
  const Trace::Id mix = trace.AddName("mix", {"layer", "extent", "expert"});
  trace.Span(lane, mix, 1'002'000, 1'005'500, {7, Trace::kNoValue, 3});
  trace.Span(lane, mix, 900'000, 1'000'001);  // Began before the trace did.
  const Json json = Written(trace);
  EXPECT_EQ(LaneNames(json), (std::map<int, std::string>{{1, "com\"pute 0"}}));
  const auto spans = Of(json, "X");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["ts"], 0.0);
  EXPECT_EQ(spans[0]["dur"], 0.001);
  EXPECT_EQ(spans[0]["args"], Json::object());
  EXPECT_EQ(spans[1]["ts"], 2.0);
  EXPECT_EQ(spans[1]["dur"], 3.5);
  EXPECT_EQ(spans[1]["name"], "mix");
  EXPECT_EQ(spans[1]["tid"], 1);
  EXPECT_EQ(spans[1]["args"], Json({{"layer", 7}, {"expert", 3}}));
}

TEST(Trace, CountersHaveTheirUnit) {
  Trace trace(1, 8, 0);
  const Trace::Id ring = trace.AddCounter("ring", "bytes");
  trace.Count(ring, 5000, 123456789012);
  const auto counters = Of(Written(trace), "C");
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0]["name"], "ring");
  EXPECT_EQ(counters[0]["ts"], 5.0);
  EXPECT_EQ(counters[0]["args"], Json({{"bytes", 123456789012}}));
}

TEST(Trace, SpansThatOverlapAreSpreadOverRows) {
  Trace trace(1, 8, 0);
  const Trace::Id device = trace.AddLane("disk", true);
  const Trace::Id after = trace.AddLane("after");
  const Trace::Id read = trace.AddName("read");
  trace.Span(device, read, 20, 40);
  trace.Span(device, read, 10, 30);
  trace.Span(device, read, 30, 35);
  trace.Span(after, read, 10, 20);
  const Json json = Written(trace);
  EXPECT_EQ(LaneNames(json),
            (std::map<int, std::string>{{1, "disk [0]"}, {2, "disk [1]"}, {3, "after"}}));
  std::map<double, int> rows;
  for (const Json& span : Of(json, "X")) {
    if (span["tid"] != 3) rows[span["ts"]] = span["tid"];
  }
  EXPECT_EQ(rows, (std::map<double, int>{{0.01, 1}, {0.02, 2}, {0.03, 1}}));
}

TEST(Trace, WhatFindsNoPlaceIsCounted) {
  Trace trace(1, 2, 0);
  const Trace::Id lane = trace.AddLane("lane");
  const Trace::Id name = trace.AddName("name");
  for (uint64_t i = 0; i < 5; ++i) trace.Span(lane, name, i, i + 1);
  std::thread([&] { trace.Span(lane, name, 7, 8); }).join();  // There is no buffer for it.
  EXPECT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.dropped(), 4u);
  const Json json = Written(trace);
  EXPECT_EQ(json["otherData"]["dropped"], 4);
  EXPECT_EQ(Of(json, "X").size(), 2u);
}

TEST(Trace, AFailureToWriteEndsIt) {
  Trace trace(1, 4096, 0);
  const Trace::Id lane = trace.AddLane("lane");
  const Trace::Id name = trace.AddName("name");
  for (uint64_t i = 0; i < 4096; ++i) trace.Span(lane, name, i, i + 1);
  int calls = 0;
  const Status written = trace.Write([&](std::string_view) -> Status {
    ++calls;
    return Failed("full");
  });
  EXPECT_FALSE(written.has_value());
  EXPECT_EQ(calls, 1);
}

TEST(Trace, ATraceAfterAnotherHasBuffersOfItsOwn) {
  for (int i = 0; i < 3; ++i) {
    Trace trace(1, 4, 0);
    trace.Span(trace.AddLane("lane"), trace.AddName("name"), 1, 2);
    EXPECT_EQ(trace.size(), 1u);
  }
}

// Threads that record nested spans at the same time: all of them arrive, and in each row a span
// lies within another or beside it.
TEST(Trace, RandomThreadsLoseNothingAndSpansNest) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  constexpr size_t kThreads = 4, kSpans = 2000;
  Trace trace(kThreads, 2 * kSpans + 1, 0);
  std::vector<Trace::Id> lanes;
  for (size_t t = 0; t < kThreads; ++t) lanes.push_back(trace.AddLane("lane"));
  const Trace::Id shared = trace.AddLane("shared", true);
  const Trace::Id name = trace.AddName("name", {"number", "", ""});
  const Trace::Id counter = trace.AddCounter("counter", "things");
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + static_cast<uint32_t>(t));
      uint64_t now = random() % 100;
      for (uint32_t i = 0; i < kSpans; i += 2) {
        const uint64_t length = 2 + random() % 50;
        const uint64_t inner = now + random() % length;
        trace.Span(lanes[t], name, inner, inner + random() % (now + length - inner + 1), {i});
        trace.Span(lanes[t], name, now, now + length, {i + 1});
        trace.Span(shared, name, now, now + length, {i});
        now += length + random() % 3;
      }
      trace.Count(counter, now, t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(trace.dropped(), 0u);
  const Json json = Written(trace);
  EXPECT_EQ(Of(json, "C").size(), kThreads);
  const auto spans = Of(json, "X");
  ASSERT_EQ(spans.size(), kThreads * kSpans * 3 / 2);
  std::map<int, std::vector<double>> open;  // Ends of the spans that hold this one.
  for (const Json& span : spans) {
    const double start = span["ts"];
    const double end = start + span["dur"].get<double>();
    auto& ends = open[span["tid"]];
    while (!ends.empty() && ends.back() <= start + 1e-6) ends.pop_back();
    if (!ends.empty()) {
      ASSERT_LE(end, ends.back() + 1e-6);
    }
    ends.push_back(end);
  }
}

}  // namespace
}  // namespace penstock
