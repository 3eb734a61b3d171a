#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/k3/census/entropy/entropy.h"

namespace penstock::k3 {

// Figures as people read them, in the table and on the page.

// "2.72T": three digits and a power of 1000.
std::string ShortCount(uint64_t number);
// With two decimals, "-" for nothing.
std::string TwoDecimals(const std::optional<double>& value);
// "2.31 ±0.04", "-" for nothing.
std::string TailCell(const EntropyFigures& figures);
// Counted elements in percent of all: "100%", "0.4%".
std::string SampledCell(const EntropyFigures& figures);

// What was looked at, and where the columns come from: the same words below the table and on the
// page.
std::string SampleSentence(const EntropyCensus& census);
std::string ColumnsSentence();

}  // namespace penstock::k3
