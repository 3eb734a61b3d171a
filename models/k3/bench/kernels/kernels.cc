#include "models/k3/bench/kernels/kernels.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/k3/bench/kernels/arms.h"
#include "runtime/cpu/affinity.h"
#include "runtime/machine/cgroup.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/statistics.h"
#include "runtime/options/list.h"
#include "runtime/process/process.h"

namespace penstock::k3 {
namespace {

constexpr uint64_t kCheckSeed = 1;
constexpr std::array<const char*, 4> kKernels = {"mxfp4", "bf16", "kda", "attention"};

Result<std::set<std::string>> ChooseNames(const std::string& text) {
  if (text.empty()) return std::set<std::string>(kKernels.begin(), kKernels.end());
  std::set<std::string> chosen;
  for (const std::string& name : SplitAtCommas(text)) {
    if (std::find(kKernels.begin(), kKernels.end(), name) == kKernels.end()) {
      return Refused(fmt::format("--kernel \"{}\": \"{}\" is none of {}", text, name,
                                 fmt::join(kKernels, ", ")));
    }
    chosen.insert(name);
  }
  return chosen;
}

Result<std::vector<const ops::Kernels*>> ChooseInstructionSets(const std::string& isa,
                                                               const Notice& notice) {
  if (!isa.empty()) {
    PENSTOCK_TRY(const ops::Kernels* const chosen, ops::ChooseKernels(isa, notice));
    return std::vector<const ops::Kernels*>{chosen};
  }
  std::vector<const ops::Kernels*> all = ops::KernelsHere();
  if (all.size() > 1) all.pop_back();  // Scalar comes last.
  for (const ops::Kernels* kernels : all) {
    const std::string difference = ops::FirstDifference(*kernels, kCheckSeed);
    if (difference.empty()) continue;
    return Unsound(fmt::format("{} gives other bits than scalar in {}", kernels->name, difference));
  }
  return all;
}

Status CheckMemory(const KernelBenchOptions& options) {
  PENSTOCK_TRY(const ProcessMemory memory, ReadProcessMemory());
  const MemoryBudget budget = ChooseMemoryBudget(memory.rss_bytes);
  if (options.bytes.bytes <= budget.bytes / 2) return {};
  return Refused(fmt::format("--bytes {} needs twice as much memory, {} may be used ({})",
                             FormatSize(options.bytes), DescribeSize(budget.bytes),
                             budget.bound_by));
}

Status PinTo(const std::string& cpu) {
  PENSTOCK_TRY(const CpuSet allowed, AllowedCpus());
  PENSTOCK_TRY(const CpuSet set, ChooseCpus("--cpu", cpu, allowed));
  return PinThisThread(CpuSet{{set.cpus.back()}});
}

// Ratios between rows of one run.
class Ratios {
 public:
  explicit Ratios(std::vector<KernelRow>& rows) : rows_(rows) {
    for (const KernelRow& row : rows) {
      if (row.kernel.starts_with("read-")) read_ = std::max(read_, row.gbps_best);
      if (row.kernel == "read-1") read1_ = row.gbps_best;
      if (row.kernel == "memcpy") memcpy_ = row.gbps_best;
    }
  }

  void Fill() {
    for (KernelRow& row : rows_) {
      if (row.bound.empty()) row.bound = "read";
      row.of_bound = row.gbps_best / (row.bound == "read" ? read_ : memcpy_);
      if (row.bound == "read") row.of_read1 = row.gbps_best / read1_;
      if (row.isa.empty()) continue;
      if (row.positions > 1) {
        row.x_one = Over(row, row.kernel, row.isa);
        if (row.x_one) *row.x_one *= static_cast<double>(row.positions);
        continue;
      }
      row.x_plain = Over(row, row.kernel + "-plain", "");
      row.x_table = Over(row, row.kernel + "-table", "");
      row.x_int8 = Over(row, row.kernel + "-int8", "");
      row.x_eigen = Over(row, row.kernel + "-eigen", "");
    }
  }

 private:
  // Its rate over that of one vector with another kernel and the same shape.
  std::optional<double> Over(const KernelRow& row, const std::string& kernel,
                             const std::string& isa) const {
    for (const KernelRow& other : rows_) {
      if (other.kernel == kernel && other.isa == isa && other.shape == row.shape &&
          other.positions == 1) {
        return row.gbps_best / other.gbps_best;
      }
    }
    return std::nullopt;
  }

  std::vector<KernelRow>& rows_;
  double read_ = 0, read1_ = 0, memcpy_ = 0;
};

KernelReport ReportOf(const std::vector<KernelArm>& arms, const Measured& measured) {
  KernelReport report;
  report.cpu_lost = measured.cpu_lost;
  for (size_t i = 0; i < arms.size(); ++i) {
    KernelRow row = arms[i].row;
    const Summary summary = Summarize(measured.samples[i]);
    // Bytes in a nanosecond are GB in a second.
    row.gbps_best = static_cast<double>(row.bytes) / summary.best;
    row.gbps_median = static_cast<double>(row.bytes) / summary.median;
    row.spread = summary.spread;
    report.rows.push_back(std::move(row));
  }
  Ratios(report.rows).Fill();
  return report;
}

}  // namespace

Result<KernelReport> BenchKernels(const KernelBenchOptions& options, const BenchHooks& hooks) {
  KernelSetting setting;
  PENSTOCK_TRY(setting.kernels, ChooseNames(options.kernel));
  PENSTOCK_TRY(setting.chosen, ChooseInstructionSets(options.isa, hooks.notice));
  setting.bytes = options.bytes.bytes;
  PENSTOCK_TRY_VOID(CheckMemory(options));
  PENSTOCK_TRY_VOID(PinTo(options.cpu));
  PENSTOCK_TRY(const auto arms, KernelArms::Make(setting));
  std::vector<Arm> timed;
  for (const KernelArm& arm : arms->arms()) {
    timed.push_back({arm.row.kernel, Timed(Clock::kThreadCpu, arm.work)});
  }
  MeasureOptions measure;
  measure.rounds = options.repetitions;
  measure.go_on = [&](size_t done, size_t total) {
    return !hooks.progress || hooks.progress({"kernels: measuring", "runs", done, total});
  };
  PENSTOCK_TRY(const Measured measured, Measure(timed, measure));
  if (measured.cpu_lost > kMostCpuLost) {
    Tell(hooks.notice,
         fmt::format("others took {:.0f} % of the CPU while this was measured; the best of a row "
                     "and the ratios say more than the medians",
                     100 * measured.cpu_lost));
  }
  KernelReport report = ReportOf(arms->arms(), measured);
  report.rounds = options.repetitions;
  return report;
}

}  // namespace penstock::k3
