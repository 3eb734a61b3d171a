#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/report/chart.h"

namespace penstock {

struct ReportColumn {
  std::string name;
  bool number = false;  // Set to the right, in figures of one width.
};

// Text in rows below the names of the columns; a row may be shorter.
struct ReportTable {
  std::vector<ReportColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

// A page for people: headings, paragraphs, tables and charts, in the order of the calls, as one
// HTML file without scripts or external resources. It follows the reader's light or dark theme.
// All text is escaped. Threads: one.
class Report {
 public:
  Report(std::string_view title, std::string_view subtitle);

  void Heading(std::string_view text);
  void Paragraph(std::string_view text);
  void Table(const ReportTable& table);  // Scrolls sideways where the window is narrow.
  void Line(const LineChart& chart);
  void Histograms(std::span<const Histogram> histograms);  // Side by side.

  std::string Html() const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace penstock
