#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "io/pack/layout.h"
#include "models/k3/census/entropy/cells.h"
#include "models/k3/census/entropy/entropy.h"

namespace penstock::k3 {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kParagraphWidth = 100;

// `text` broken at spaces into lines of at most kParagraphWidth columns.
std::string Paragraph(const std::string& text) {
  std::string out;
  size_t column = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t length = end - begin;
    if (column > 0 && column + 1 + length > kParagraphWidth) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(begin, length);
    column += length;
    begin = end + 1;
  }
  return out + "\n";
}

void AppendHeadings(std::string& out) {
  out += fmt::format("{:<8}{:>8}{:>9}{:>9}{:>9}{:>6}{:>6}{:>7}{:>7}{:>8}{:>13}{:>7}{:>7}  {}\n",
                     "form", "tensors", "elements", "sampled", "exponent", "rest", "code", "raw",
                     "chain", "huffman", "tail", "width", "theory", "name");
}

void AppendRow(const EntropyRow& row, std::string& out) {
  const EntropyFigures& f = row.figures;
  out += fmt::format("{:<8}{:>8}{:>9}{:>9}{:>9}{:>6}{:>6}{:>7}{:>7}{:>8}{:>13}{:>7}{:>7}  {}\n",
                     LayoutOf(f.form).name, ShortCount(f.tensors), ShortCount(f.elements),
                     SampledCell(f), TwoDecimals(f.exponent_bits), TwoDecimals(f.rest_bits),
                     TwoDecimals(f.code_bits), TwoDecimals(f.coded_bits[0]),
                     TwoDecimals(f.coded_bits[1]), TwoDecimals(f.coded_bits[2]), TailCell(f),
                     TwoDecimals(f.measured_width()), TwoDecimals(f.bound_width()), row.name);
}

void AppendRows(const std::vector<EntropyRow>& rows, std::string& out) {
  out += '\n';
  AppendHeadings(out);
  for (const EntropyRow& row : rows) AppendRow(row, out);
}

Json Optional(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json CodecsJson(const EntropyFigures& f) {
  Json out = Json::object();
  for (size_t i = 0; i < kCensusCodecs.size(); ++i) {
    Json& codec = out[std::string(io::CodecName(static_cast<uint8_t>(kCensusCodecs[i])))];
    if (f.coded_bits[i]) codec = {{"bits", *f.coded_bits[i]}, {"ratio", *f.ratio(i)}};
  }
  return out;
}

Json ExponentsJson(const EntropyFigures& f) {
  const auto shows = [](double share) { return share > 0; };
  const auto begin = std::find_if(f.exponents.begin(), f.exponents.end(), shows);
  const auto end = std::find_if(f.exponents.rbegin(), f.exponents.rend(), shows).base();
  if (begin >= end) return {};
  return {{"first", begin - f.exponents.begin()}, {"shares", std::vector<double>(begin, end)}};
}

Json RowJson(const EntropyRow& row, bool exponents) {
  const EntropyFigures& f = row.figures;
  Json out = {{"name", row.name}};
  if (row.layer) out["layer"] = *row.layer;
  out["form"] = LayoutOf(f.form).name;
  out["tensors"] = f.tensors;
  out["elements"] = f.elements;
  out["bytes"] = f.bytes;
  out["sampled_tensors"] = f.sampled_tensors;
  out["sampled_elements"] = f.sampled;
  out["zeros"] = f.zeros;
  out["nonfinite"] = f.nonfinite;
  out["entropy"] = {{"exponent", Optional(f.exponent_bits)},
                    {"rest", Optional(f.rest_bits)},
                    {"code", Optional(f.code_bits)}};
  out["codecs"] = CodecsJson(f);
  out["tail"] = Json();
  if (f.tail) {
    out["tail"] = {{"alpha", f.tail->alpha}, {"error", f.tail->error}, {"used", f.tail->used}};
  }
  out["width"] = {{"measured", Optional(f.measured_width())}, {"bound", Optional(f.bound_width())}};
  if (exponents) out["exponents"] = ExponentsJson(f);
  return out;
}

Json RowsJson(const std::vector<EntropyRow>& rows, bool exponents) {
  Json out = Json::array();
  for (const EntropyRow& row : rows) out.push_back(RowJson(row, exponents));
  return out;
}

}  // namespace

std::string EntropyTable(const EntropyCensus& census) {
  std::string out = fmt::format("{}\n  checkpoint id {}\n", census.directory, census.identity);
  out += Paragraph(SampleSentence(census));
  AppendRows(census.tensors.empty() ? census.groups : census.tensors, out);
  if (!census.kinds.empty()) AppendRows(census.kinds, out);
  AppendRows(census.totals, out);
  return out + "\n" + Paragraph(ColumnsSentence());
}

Json EntropyJson(const EntropyCensus& census) {
  const EntropySample& sample = census.sample;
  Json out = {
      {"schema", "penstock.entropy.v1"},
      {"directory", census.directory},
      {"checkpoint", census.identity},
      {"k3", census.k3},
      {"sample",
       {{"full", sample.full},
        {"blocks", sample.blocks},
        {"block_bytes", sample.block_bytes},
        {"experts", sample.full ? census.experts : std::min(sample.experts, census.experts)},
        {"experts_of", census.experts},
        {"read_bytes", census.read_bytes}}}};
  out["totals"] = RowsJson(census.totals, true);
  out["kinds"] = RowsJson(census.kinds, true);
  out["groups"] = RowsJson(census.groups, true);
  if (!census.tensors.empty()) out["tensors"] = RowsJson(census.tensors, false);
  return out;
}

}  // namespace penstock::k3
