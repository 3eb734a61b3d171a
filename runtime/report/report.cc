#include "runtime/report/report.h"

#include <fmt/format.h>

#include "runtime/report/html.h"

namespace penstock {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --page: #fcfcfb; --ink: #16181d; --soft: #5c6370;
  --rule: #e3e4e8; --band: #f3f4f6; --s0: #2a6fdb; --s1: #d9722e; --s2: #2a9d76; --s3: #9a5cc6; }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --ink: #e8eaee; --soft: #a0a7b4;
  --rule: #30343c; --band: #1e2127; --s0: #6ea4f5; --s1: #ee9a60; --s2: #5cc7a2; --s3: #c197e6; } }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 72rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { max-width: 46rem; margin: .5rem 0; }
.subtitle, small, figcaption small { color: var(--soft); font-weight: 400; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; white-space: nowrap; }
th, td { padding: .28rem .55rem; text-align: left; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody tr:hover { background: var(--band); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .9rem; font-weight: 600; overflow-wrap: anywhere; }
.grid { display: grid; gap: 1.2rem; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
line.rule { stroke: var(--rule); }
line.axis { stroke: var(--soft); }
.bar { fill: var(--s0); }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
path.s0 { stroke: var(--s0); } path.s1 { stroke: var(--s1); }
path.s2 { stroke: var(--s2); } path.s3 { stroke: var(--s3); }
circle.s0, i.s0 { fill: var(--s0); background: var(--s0); }
circle.s1, i.s1 { fill: var(--s1); background: var(--s1); }
circle.s2, i.s2 { fill: var(--s2); background: var(--s2); }
circle.s3, i.s3 { fill: var(--s3); background: var(--s3); }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; font-size: .86rem; margin: .2rem 0; }
.legend i { display: inline-block; width: 1rem; height: 3px; margin-right: .4rem;
  vertical-align: middle; }
)";

std::string_view CellClass(const ReportTable& table, size_t column) {
  return column < table.columns.size() && table.columns[column].number ? " class=\"n\"" : "";
}

}  // namespace

Report::Report(std::string_view title, std::string_view subtitle) : title_(EscapeHtml(title)) {
  body_ = fmt::format("<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n", title_, EscapeHtml(subtitle));
}

void Report::Heading(std::string_view text) {
  body_ += fmt::format("<h2>{}</h2>\n", EscapeHtml(text));
}

void Report::Paragraph(std::string_view text) {
  body_ += fmt::format("<p>{}</p>\n", EscapeHtml(text));
}

void Report::Table(const ReportTable& table) {
  body_ += "<div class=\"scroll\"><table>\n<thead><tr>";
  for (size_t i = 0; i < table.columns.size(); ++i) {
    body_ += fmt::format("<th{}>{}</th>", CellClass(table, i), EscapeHtml(table.columns[i].name));
  }
  body_ += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    body_ += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      body_ += fmt::format("<td{}>{}</td>", CellClass(table, i), EscapeHtml(row[i]));
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void Report::Line(const LineChart& chart) { body_ += LineChartHtml(chart); }

void Report::Histograms(std::span<const Histogram> histograms) {
  body_ += "<div class=\"grid\">\n";
  for (const Histogram& histogram : histograms) body_ += HistogramHtml(histogram);
  body_ += "</div>\n";
}

std::string Report::Html() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n{}</body></html>\n",
      title_, kStyle, body_);
}

}  // namespace penstock
