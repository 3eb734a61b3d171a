#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/k3/census/entropy/cells.h"
#include "models/k3/census/entropy/entropy.h"
#include "runtime/report/report.h"

namespace penstock::k3 {
namespace {

constexpr std::string_view kNothing = "-";

// Takes columns out that say nothing in any row.
void DropEmptyColumns(ReportTable& table) {
  for (size_t i = table.columns.size(); i-- > 0;) {
    const auto empty = [i](const auto& row) { return row[i] == kNothing; };
    if (!std::all_of(table.rows.begin(), table.rows.end(), empty)) continue;
    table.columns.erase(table.columns.begin() + static_cast<ptrdiff_t>(i));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<ptrdiff_t>(i));
  }
}

ReportTable TableOf(const std::vector<EntropyRow>& rows) {
  ReportTable table;
  table.columns = {{"name"}, {"form"}};
  for (const char* name : {"tensors", "elements", "sampled", "exponent", "rest", "code", "chain",
                           "ratio", "huffman", "ratio", "tail", "width", "theory"}) {
    table.columns.push_back({name, true});
  }
  for (const EntropyRow& row : rows) {
    const EntropyFigures& f = row.figures;
    table.rows.push_back({row.name, std::string(LayoutOf(f.form).name), ShortCount(f.tensors),
                          ShortCount(f.elements), SampledCell(f), TwoDecimals(f.exponent_bits),
                          TwoDecimals(f.rest_bits), TwoDecimals(f.code_bits),
                          TwoDecimals(f.coded_bits[1]), TwoDecimals(f.ratio(1)),
                          TwoDecimals(f.coded_bits[2]), TwoDecimals(f.ratio(2)), TailCell(f),
                          TwoDecimals(f.measured_width()), TwoDecimals(f.bound_width())});
  }
  DropEmptyColumns(table);
  return table;
}

// Exponents as powers of two. Zeros and subnormals lie apart, where the field is 0, and are named
// instead: they would push everything else to the edge.
Histogram HistogramOf(const EntropyRow& row) {
  const EntropyFigures& f = row.figures;
  const EntropyLayout& layout = LayoutOf(f.form);
  Histogram out;
  out.title = fmt::format("{}, {}", row.name, layout.name);
  out.note = fmt::format("{} bits", TwoDecimals(f.exponent_bits));
  out.x_label = "exponent";
  out.first = 2 - (int64_t{1} << (layout.exponent_bits() - 1));
  out.shares.assign(f.exponents.begin() + 1, f.exponents.end());
  if (f.exponents[0] > 0) {
    out.note += fmt::format(", {:.2g} % zero or subnormal", 100 * f.exponents[0]);
  }
  return out;
}

std::vector<Histogram> HistogramsOf(const std::vector<EntropyRow>& rows) {
  std::vector<Histogram> out;
  for (const EntropyRow& row : rows) {
    if (!row.figures.exponents.empty()) out.push_back(HistogramOf(row));
  }
  return out;
}

// The form with the most elements among those that split; its rows make the lines.
EntropyForm MainForm(const EntropyCensus& census) {
  EntropyForm form = EntropyForm::kBf16;
  uint64_t most = 0;
  for (const EntropyRow& row : census.totals) {
    if (!row.figures.exponent_bits || row.figures.elements <= most) continue;
    most = row.figures.elements;
    form = row.figures.form;
  }
  return form;
}

// Width over the groups: of the numbers, as coded, and as theory has it.
LineChart WidthsOf(const EntropyCensus& census, EntropyForm form) {
  LineChart chart;
  chart.title = fmt::format("Bits of a {} weight", LayoutOf(form).name);
  chart.y_label = "bits of an element";
  chart.x_label = census.k3 ? "layer" : "group";
  chart.series = {{"entropy of exponent and rest", {}},
                  {"chain", {}},
                  {"huffman", {}},
                  {"theory at the tail's alpha", {}}};
  for (const EntropyRow& row : census.groups) {
    const EntropyFigures& f = row.figures;
    if (f.form != form || (census.k3 && !row.layer)) continue;
    chart.x.push_back(row.layer ? std::to_string(*row.layer) : row.name);
    std::optional<double> entropy;
    if (f.exponent_bits && f.rest_bits) entropy = *f.exponent_bits + *f.rest_bits;
    chart.series[0].values.push_back(entropy);
    chart.series[1].values.push_back(f.coded_bits[1]);
    chart.series[2].values.push_back(f.coded_bits[2]);
    chart.series[3].values.push_back(f.bound_width());
  }
  return chart;
}

}  // namespace

std::string EntropyPage(const EntropyCensus& census) {
  Report report("Entropy of " + census.directory, "checkpoint " + census.identity);
  report.Paragraph(SampleSentence(census));
  report.Heading("In total");
  report.Table(TableOf(census.totals));
  report.Paragraph(ColumnsSentence());
  if (!census.kinds.empty()) {
    report.Heading("By kind");
    report.Table(TableOf(census.kinds));
  }
  const LineChart widths = WidthsOf(census, MainForm(census));
  if (widths.x.size() > 1) {
    report.Heading(census.k3 ? "Over the layers" : "Over the groups");
    report.Line(widths);
  }
  report.Heading(census.k3 ? "Exponents by kind" : "Exponents");
  report.Histograms(HistogramsOf(census.k3 ? census.kinds : census.totals));
  report.Heading(census.k3 ? "Exponents by layer" : "Exponents by group");
  report.Histograms(HistogramsOf(census.groups));
  report.Heading(census.k3 ? "By layer" : "By group");
  report.Table(TableOf(census.groups));
  if (!census.tensors.empty()) {
    report.Heading("By tensor");
    report.Table(TableOf(census.tensors));
  }
  return report.Html();
}

}  // namespace penstock::k3
