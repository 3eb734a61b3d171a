#include "models/k3/commands/bench/codec.h"

#include "models/k3/bench/codec/codec.h"
#include "models/k3/commands/bench/run_bench.h"

namespace penstock::k3 {
namespace {

const CommandLine kBenchCodec{
    .name = "penstock bench codec",
    .summary = "Measures how fast weights are decoded on one core, beside memcpy and zstd.",
    .positional = "",
    .examples = {"penstock bench codec", "penstock bench codec -m DIR --threads 2 --json",
                 "penstock bench codec --codec chain,zstd --repetitions 25"}};

}  // namespace

int RunBenchCodec(Console& console, std::span<const std::string> arguments) {
  CodecBenchOptions options;
  OptionSet rows;
  rows.Add("codec", options);
  return RunMeasured(
      console, kBenchCodec, arguments, rows,
      [&](const BenchHooks& hooks) { return BenchCodec(options, hooks); }, CodecRowsTable,
      CodecJson);
}

}  // namespace penstock::k3
