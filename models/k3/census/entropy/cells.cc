#include "models/k3/census/entropy/cells.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/size.h"

namespace penstock::k3 {

std::string ShortCount(uint64_t number) {
  constexpr std::string_view kUnits = " kMGTPE";
  auto value = static_cast<double>(number);
  size_t unit = 0;
  while (value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return std::to_string(number);
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string TwoDecimals(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string TailCell(const EntropyFigures& figures) {
  if (!figures.tail) return "-";
  return fmt::format("{:.2f} ±{:.2f}", figures.tail->alpha, figures.tail->error);
}

std::string SampledCell(const EntropyFigures& figures) {
  if (figures.sampled == 0) return "-";
  if (figures.sampled == figures.elements) return "100%";
  return fmt::format("{:.2g}%", std::min(99.0, 100 * static_cast<double>(figures.sampled) /
                                                   static_cast<double>(figures.elements)));
}

std::string SampleSentence(const EntropyCensus& census) {
  const EntropySample& sample = census.sample;
  if (sample.full) {
    return fmt::format(
        "Every element was counted ({} read). The codecs took {} blocks of {} of "
        "each tensor, evenly spread.",
        DescribeSize(census.read_bytes), sample.blocks, DescribeSize(sample.block_bytes));
  }
  std::string out =
      fmt::format("Sampled: {} blocks of {} of each tensor, evenly spread, {} in all",
                  sample.blocks, DescribeSize(sample.block_bytes), DescribeSize(census.read_bytes));
  if (census.experts > sample.experts) {
    out += fmt::format("; {} of the {} experts of each layer", sample.experts, census.experts);
  }
  return out + ".";
}

std::string ColumnsSentence() {
  return "Bits of an element: exponent, rest and code are Shannon entropies of the exponent field, "
         "of sign and mantissa, and of MXFP4 codes or E8M0 scales; raw, chain and huffman are what "
         "the codecs store, ratio how often that goes into the raw bits. Tail is Hill's estimate "
         "of the index alpha of the largest 2 % of |w|. Width is the exponent's entropy with a "
         "sign and the mantissa; theory is the same with the bound alpha / (1 - 2^-alpha) of Yang "
         "et al. (arXiv:2510.02676), alpha at most 2, a yardstick and no guarantee. Rows of "
         "several tensors are means over their elements.";
}

}  // namespace penstock::k3
