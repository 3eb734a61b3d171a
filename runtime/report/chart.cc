#include "runtime/report/chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/report/html.h"

namespace penstock {
namespace {

// The plot inside of the drawing, in SVG units.
struct Frame {
  double width, height;             // Of the drawing.
  double left, top, right, bottom;  // Of the plot.
};

std::string Text(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     EscapeHtml(text));
}

std::string Line(std::string_view kind, double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"></line>\n", kind,
      x1, y1, x2, y2);
}

std::string Begin(const Frame& frame, std::string_view label) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
                     frame.width, frame.height, EscapeHtml(label));
}

// 1, 2 or 5 times a power of ten, so that `span` has at most `steps` of them.
double NiceStep(double span, int steps) {
  const double rough = span / steps;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

struct Range {
  double low = 0, high = 1;
  double step = 1;
};

// Lines of the grid with their numbers, at multiples of the step.
std::string Grid(const Frame& frame, const Range& range, std::string_view unit) {
  std::string out;
  const auto first = static_cast<int64_t>(std::llround(range.low / range.step));
  const auto last = static_cast<int64_t>(std::llround(range.high / range.step));
  for (int64_t i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * range.step;
    const double y =
        frame.bottom - (value - range.low) / (range.high - range.low) * (frame.bottom - frame.top);
    out += Line(i == first ? "axis" : "rule", frame.left, y, frame.right, y);
    out += Text(frame.left - 6, y + 4, "end", fmt::format("{:.4g}{}", value, unit));
  }
  return out;
}

// The part of the histogram that is drawn: from the first bar to the last that shows.
std::pair<size_t, size_t> Shown(const std::vector<double>& shares, double highest) {
  const auto shows = [&](double share) { return share > highest / 2000; };
  const auto begin = std::find_if(shares.begin(), shares.end(), shows);
  const auto end = std::find_if(shares.rbegin(), shares.rend(), shows).base();
  if (begin >= end) return {0, 0};
  return {static_cast<size_t>(begin - shares.begin()), static_cast<size_t>(end - shares.begin())};
}

std::string Bars(const Histogram& h, const Frame& frame, const Range& range) {
  const auto [begin, end] = Shown(h.shares, range.high / 100);
  std::string out;
  const double slot =
      (frame.right - frame.left) / static_cast<double>(std::max(end - begin, size_t{8}));
  const double center = (frame.left + frame.right - slot * static_cast<double>(end - begin)) / 2;
  const size_t every = std::max<size_t>(1, static_cast<size_t>(std::ceil(28 / slot)));
  for (size_t i = begin; i < end; ++i) {
    const double x = center + slot * static_cast<double>(i - begin);
    const double percent = 100 * h.shares[i];
    const double height = percent / range.high * (frame.bottom - frame.top);
    const int64_t at = h.first + static_cast<int64_t>(i);
    const double gap = std::min(2.0, slot / 4);
    out += fmt::format(
        "<rect class=\"bar\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\">"
        "<title>{}: {:.3g} %</title></rect>\n",
        x + gap / 2, frame.bottom - height, slot - gap, height, at, percent);
    if ((at % static_cast<int64_t>(every)) == 0) {
      out += Text(x + slot / 2, frame.bottom + 15, "middle", std::to_string(at));
    }
  }
  return out;
}

Range RangeOf(const LineChart& chart) {
  double low = INFINITY, high = -INFINITY;
  for (const LineSeries& series : chart.series) {
    for (const auto& value : series.values) {
      if (!value || !std::isfinite(*value)) continue;
      low = std::min(low, *value);
      high = std::max(high, *value);
    }
  }
  if (low > high) return {};
  if (high - low < 1e-9 * std::max(1.0, std::abs(high))) {
    low -= 0.5;
    high += 0.5;
  }
  Range range;
  range.step = NiceStep(high - low, 5);
  range.low = std::floor(low / range.step) * range.step;
  range.high = std::ceil(high / range.step) * range.step;
  return range;
}

// One series: its pieces between gaps, and a mark for each value.
std::string Lines(const LineChart& chart, size_t which, const Frame& frame, const Range& range) {
  const LineSeries& series = chart.series[which];
  const double step =
      (frame.right - frame.left) / static_cast<double>(std::max<size_t>(1, chart.x.size() - 1));
  std::string path, marks;
  bool drawing = false;
  for (size_t i = 0; i < std::min(series.values.size(), chart.x.size()); ++i) {
    const auto& value = series.values[i];
    const bool here = value && std::isfinite(*value);
    if (here) {
      const double x = frame.left + step * static_cast<double>(i);
      const double y = frame.bottom -
                       (*value - range.low) / (range.high - range.low) * (frame.bottom - frame.top);
      path += fmt::format("{}{:.1f} {:.1f} ", drawing ? 'L' : 'M', x, y);
      marks += fmt::format(
          "<circle class=\"mark s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}, {}: {:.4g}"
          "</title></circle>\n",
          which % 4, x, y, EscapeHtml(chart.x[i]), EscapeHtml(series.name), *value);
    }
    drawing = here;
  }
  return fmt::format("<path class=\"line s{}\" d=\"{}\"></path>\n{}", which % 4, path, marks);
}

bool HasValue(const LineSeries& series) {
  return std::any_of(series.values.begin(), series.values.end(),
                     [](const auto& value) { return value && std::isfinite(*value); });
}

std::string Legend(const LineChart& chart) {
  std::string out;
  size_t shown = 0;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    if (!HasValue(chart.series[i])) continue;
    ++shown;
    out += fmt::format("<span><i class=\"s{}\"></i>{}</span>", i % 4,
                       EscapeHtml(chart.series[i].name));
  }
  return shown < 2 ? "" : "<p class=\"legend\">" + out + "</p>\n";
}

std::string XLabels(const LineChart& chart, const Frame& frame) {
  const size_t last = chart.x.empty() ? 0 : chart.x.size() - 1;
  const double step = (frame.right - frame.left) / static_cast<double>(std::max<size_t>(1, last));
  const size_t every = std::max<size_t>(1, static_cast<size_t>(std::ceil(36 / step)));
  std::string out;
  for (size_t i = 0; i < chart.x.size(); i += every) {
    out +=
        Text(frame.left + step * static_cast<double>(i), frame.bottom + 16, "middle", chart.x[i]);
  }
  return out;
}

}  // namespace

std::string HistogramHtml(const Histogram& histogram) {
  const Frame frame{320, 170, 40, 8, 314, 134};
  double highest = 0;
  for (const double share : histogram.shares) highest = std::max(highest, 100 * share);
  Range range;
  range.step = highest > 0 ? NiceStep(highest, 4) : 1;
  range.high = std::max(1.0, std::ceil(highest / range.step - 1e-9)) * range.step;
  std::string out =
      fmt::format("<figure class=\"small\"><figcaption>{} <small>{}</small></figcaption>\n",
                  EscapeHtml(histogram.title), EscapeHtml(histogram.note));
  out += Begin(frame, histogram.title) + Grid(frame, range, "%") + Bars(histogram, frame, range);
  out += Text((frame.left + frame.right) / 2, frame.height - 5, "middle", histogram.x_label);
  return out + "</svg></figure>\n";
}

std::string LineChartHtml(const LineChart& chart) {
  const Frame frame{960, 300, 56, 14, 944, 250};
  const Range range = RangeOf(chart);
  std::string out =
      fmt::format("<figure class=\"wide\"><figcaption>{} <small>{}</small></figcaption>\n{}",
                  EscapeHtml(chart.title), EscapeHtml(chart.y_label), Legend(chart));
  out += Begin(frame, chart.title) + Grid(frame, range, "") + XLabels(chart, frame);
  for (size_t i = 0; i < chart.series.size(); ++i) out += Lines(chart, i, frame, range);
  out += Text((frame.left + frame.right) / 2, frame.height - 8, "middle", chart.x_label);
  return out + "</svg></figure>\n";
}

}  // namespace penstock
