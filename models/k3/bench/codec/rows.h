#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/options/options.h"

namespace penstock::k3 {

// A result of `penstock bench codec`. Rates are GB (1e9 bytes) of bf16 weights, decoded or encoded,
// for each second of the row's clock.
struct CodecRow {
  std::string codec;  // "chain", "chain-avx2", "chain+sum", "chain-tile", "chain-encode", ...
  std::string isa;    // Instruction set of the decoder; empty where there is no choice.
  std::string data;   // "syn" or "trunk".
  double ratio = 1;   // Bytes stored for a byte of weights.
  double gbps_best = 0;
  double gbps_median = 0;
  double memcpy_best = 0;  // Of memcpy in the same run, by the same clock, on as many threads.
  double memcpy_median = 0;
  double memcpy_ratio = 0;             // Median over the rounds of this rate over memcpy's.
  std::optional<double> zstd1_ratio;   // The same over zstd -1.
  std::optional<double> x_one_thread;  // The same over one thread.
  double spread = 0;                   // Middle half of the samples over their median.
  bool checksum = false;               // Each chunk's checksum was verified as well.
  size_t threads = 1;
  std::string clock = "cpu";  // "cpu": of the thread; "wall"; "busiest": of the busiest thread.
  size_t bytes = 0;           // Of weights in a run.
  double cpu_lost = 0;        // The share of a CPU that neighbours took meanwhile.
};

std::string CodecRowsTable(std::span<const CodecRow> rows);
// An array of objects; what is not there is null.
Json CodecJson(std::span<const CodecRow> rows);

}  // namespace penstock::k3
