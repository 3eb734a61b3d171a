#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

// Charts as inline SVG for a Report: no scripts, no external resources, colours from the page's
// style so that they follow its light or dark theme. Hovering shows the value of a mark.

// A bar for each of consecutive whole numbers, first, first + 1, ...
struct Histogram {
  std::string title;
  std::string note;  // Small, beside the title; may be "".
  std::string x_label;
  int64_t first = 0;
  std::vector<double> shares;  // >= 0; shown in percent.
};

struct LineSeries {
  std::string name;
  std::vector<std::optional<double>> values;  // One for each x; nothing leaves a gap.
};

// Lines over the same x values, with a legend when several have values.
struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> x;
  std::vector<LineSeries> series;  // At most 4 have a colour of their own.
};

// Each answers a <figure>.
std::string HistogramHtml(const Histogram& histogram);
std::string LineChartHtml(const LineChart& chart);

}  // namespace penstock
