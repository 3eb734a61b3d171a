#include "runtime/measure/span_log.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

std::vector<TimeSpan> TakeAll(SpanLog& log, uint64_t now) {
  std::vector<TimeSpan> spans;
  log.Take(now, &spans);
  return spans;
}

void ExpectSpan(const TimeSpan& span, uint64_t begin, uint64_t end, uint32_t kind) {
  EXPECT_EQ(span.begin_ns, begin);
  EXPECT_EQ(span.end_ns, end);
  EXPECT_EQ(span.kind, kind);
}

TEST(SpanLog, AnOpenOneIsCutAndGoesOn) {
  SpanLog log(8);
  log.Open(10);
  log.Open(15);  // It is the case already.
  auto spans = TakeAll(log, 20);
  ASSERT_EQ(spans.size(), 1u);
  ExpectSpan(spans[0], 10, 20, 0);
  log.Close(25);
  log.Close(26);  // It is not the case any more.
  spans = TakeAll(log, 40);
  ASSERT_EQ(spans.size(), 1u);
  ExpectSpan(spans[0], 20, 25, 0);
  EXPECT_TRUE(TakeAll(log, 50).empty());
}

TEST(SpanLog, AnotherKindEndsTheFirst) {
  SpanLog log(8);
  log.Open(10, 1);
  log.Open(12, 2);
  log.Close(17);
  const auto spans = TakeAll(log, 20);
  ASSERT_EQ(spans.size(), 2u);
  ExpectSpan(spans[0], 10, 12, 1);
  ExpectSpan(spans[1], 12, 17, 2);
}

TEST(SpanLog, AFullOneGrowsItsLastSpan) {
  SpanLog log(2);
  for (uint64_t i = 0; i < 5; ++i) {
    log.Open(10 * i);
    log.Close(10 * i + 5);
  }
  const auto spans = TakeAll(log, 100);
  ASSERT_EQ(spans.size(), 2u);
  ExpectSpan(spans[0], 0, 5, 0);
  ExpectSpan(spans[1], 10, 45, 0);
}

}  // namespace
}  // namespace penstock
