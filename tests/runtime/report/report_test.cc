#include "runtime/report/report.h"

#include <gtest/gtest.h>

#include "tests/runtime/report/markup.h"

namespace penstock {
namespace {

TEST(Report, IsAPageOfItsOwn) {
  Report report("A <b> page", "about \"this\"");
  report.Heading("1 < 2");
  report.Paragraph("a & b");
  report.Table({{{"name"}, {"n", true}}, {{"<x>", "1"}, {"short"}, {"long", "2", "3"}}});
  report.Line({"l", "x", "y", {"0", "1"}, {{"s", {1, 2}}}});
  const Histogram histogram{"h", "", "x", 0, {0.5, 0.5}};
  report.Histograms(std::vector<Histogram>{histogram, histogram});
  const std::string html = report.Html();
  ExpectWellFormed(html);
  EXPECT_EQ(html.rfind("<!DOCTYPE html>", 0), 0u);
  EXPECT_NE(html.find("<title>A &lt;b&gt; page</title>"), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(html.find("<td>&lt;x&gt;</td><td class=\"n\">1</td>"), std::string::npos);
  EXPECT_NE(html.find("<td>3</td>"), std::string::npos);
  EXPECT_NE(html.find("<h2>1 &lt; 2</h2>"), std::string::npos);
  EXPECT_NE(html.find("a &amp; b"), std::string::npos);
  EXPECT_EQ(Occurrences(html, "<svg"), 3u);
  EXPECT_EQ(Occurrences(html, "<tr>"), 4u);
}

}  // namespace
}  // namespace penstock
