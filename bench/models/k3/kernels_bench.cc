// Claim: at the released shapes MXFP4 weights are multiplied by one vector at least 4.5 times as
//   fast as by plain loops in double and 1.6 times as fast as by a table look-up, four vectors at
//   least 1.7 times as fast as one; bf16 comes near the rate at which memory is read.
// Unit: bytes moved a second of one thread, in processor time.
// Bound: `read-N` and `memcpy`; instructions for MXFP4 and for four vectors.
// Run: penstock_k3_bench --benchmark_filter=Kernels --benchmark_repetitions=9
//        --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true
// The bodies are those of `penstock bench kernels`, which gives the ratios of one run.

#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "models/k3/bench/kernels/arms.h"
#include "ops/isa.h"
#include "runtime/check.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

std::string Name(const KernelRow& row) {
  std::string name = "Kernels/" + row.kernel;
  for (const std::string& part : {row.shape, row.isa}) name += part.empty() ? "" : "/" + part;
  return row.positions > 1 ? name + "/T:" + std::to_string(row.positions) : name;
}

bool RegisterAll() {
  static const auto arms = KernelArms::Make({.kernels = {"mxfp4", "bf16", "kda", "attention"},
                                             .chosen = ops::KernelsHere(),
                                             .bytes = 512 * kMiB});
  PENSTOCK_CHECK(arms.has_value());
  for (const KernelArm& arm : (*arms)->arms()) {
    benchmark::RegisterBenchmark(Name(arm.row).c_str(), [&arm](benchmark::State& state) {
      for ([[maybe_unused]] auto _ : state) arm.work();
      state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * arm.row.bytes));
    });
  }
  return true;
}
const bool kRegistered = RegisterAll();

}  // namespace
}  // namespace penstock::k3
