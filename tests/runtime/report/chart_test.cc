#include "runtime/report/chart.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/runtime/report/markup.h"

namespace penstock {
namespace {

TEST(Chart, HistogramDrawsFromTheFirstBarToTheLast) {
  Histogram histogram{"<t>", "n&", "x", -3, {0, 0, 0.25, 0, 0.5, 0.25, 0, 0}};
  const std::string html = HistogramHtml(histogram);
  ExpectWellFormed(html);
  EXPECT_EQ(Occurrences(html, "<rect"), 4u);
  EXPECT_NE(html.find("<title>-1: 25 %</title>"), std::string::npos);
  EXPECT_NE(html.find("<title>1: 50 %</title>"), std::string::npos);
  EXPECT_NE(html.find("<title>2: 25 %</title>"), std::string::npos);
  EXPECT_NE(html.find("&lt;t&gt;"), std::string::npos);
  EXPECT_NE(html.find("n&amp;"), std::string::npos);
}

TEST(Chart, HeightsAreInProportion) {
  const std::string html = HistogramHtml({"t", "", "x", 0, {0.25, 0.5}});
  std::vector<double> heights;
  for (size_t at = html.find("height=\""); at != std::string::npos;
       at = html.find("height=\"", at + 1)) {
    heights.push_back(std::stod(html.substr(at + 8)));
  }
  ASSERT_EQ(heights.size(), 2u);
  EXPECT_NEAR(heights[1], 2 * heights[0], 0.02);
  EXPECT_GT(heights[1], 60);
}

TEST(Chart, NothingToDrawIsNoError) {
  ExpectWellFormed(HistogramHtml({}));
  ExpectWellFormed(HistogramHtml({"t", "", "x", 0, {0, 0}}));
  ExpectWellFormed(LineChartHtml({}));
  const std::string gaps = LineChartHtml({"t", "x", "y", {"0"}, {{"a", {std::nullopt}}}});
  ExpectWellFormed(gaps);
  EXPECT_EQ(Occurrences(gaps, "<circle"), 0u);
}

TEST(Chart, LinesLeaveGaps) {
  const LineChart chart{
      "t",
      "x",
      "y",
      {"0", "1", "2", "3", "<4>"},
      {{"a&b", {1, 2, std::nullopt, 4, 5}}, {"flat", {3, 3, 3, 3, NAN}}, {"none", {}}}};
  const std::string html = LineChartHtml(chart);
  ExpectWellFormed(html);
  EXPECT_EQ(Occurrences(html, "<circle"), 8u);
  EXPECT_EQ(Occurrences(html, "M"), 3u);  // Two pieces and one.
  EXPECT_NE(html.find("<title>&lt;4&gt;, a&amp;b: 5</title>"), std::string::npos);
  EXPECT_EQ(Occurrences(html, "class=\"legend\""), 1u);
  EXPECT_EQ(Occurrences(html, "<span>"), 2u);
  EXPECT_EQ(Occurrences(LineChartHtml({"t", "x", "y", {"0"}, {{"a", {1}}}}), "legend"), 0u);
}

}  // namespace
}  // namespace penstock
