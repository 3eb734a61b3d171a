#include "models/k3/bench/codec/codec.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/k3/bench/codec/codec_arms.h"
#include "models/k3/bench/codec/generated.h"
#include "models/k3/bench/codec/team.h"
#include "models/k3/bench/codec/trunk.h"
#include "runtime/cpu/affinity.h"
#include "runtime/machine/cgroup.h"
#include "runtime/measure/statistics.h"
#include "runtime/options/list.h"
#include "runtime/process/process.h"

namespace penstock::k3 {
namespace {

constexpr uint64_t kWeightsSeed = 1;

constexpr std::array<const char*, 4> kCodecs = {"raw", "chain", "huffman", "zstd"};

Result<std::set<std::string>> ChooseCodecs(const std::string& text) {
  if (text.empty()) return std::set<std::string>(kCodecs.begin(), kCodecs.end());
  std::set<std::string> chosen;
  for (const std::string& name : SplitAtCommas(text)) {
    if (std::find(kCodecs.begin(), kCodecs.end(), name) == kCodecs.end()) {
      return Refused(fmt::format("--codec \"{}\": \"{}\" is none of {}", text, name,
                                 fmt::join(kCodecs, ", ")));
    }
    chosen.insert(name);
  }
  return chosen;
}

// As many as there are threads; the first is the one that measures alone.
Result<std::vector<unsigned>> ChooseThreadCpus(const CodecBenchOptions& options,
                                               const CpuSet& allowed) {
  PENSTOCK_TRY(const CpuSet set, ChooseCpus("--cpu", options.cpu, allowed));
  if (set.size() < options.threads) {
    return Refused(fmt::format("--threads {} needs as many CPUs, and there are {}: {}",
                               options.threads, set.size(), FormatCpuList(set)));
  }
  std::vector<unsigned> cpus = set.cpus;
  if (options.cpu.empty()) std::reverse(cpus.begin(), cpus.end());
  cpus.resize(options.threads);
  return cpus;
}

// Weights of both kinds, the output, and all stored forms of one of them.
constexpr uint64_t kCopies = 7;

Status CheckMemory(const CodecBenchOptions& options) {
  PENSTOCK_TRY(const ProcessMemory memory, ReadProcessMemory());
  const MemoryBudget budget = ChooseMemoryBudget(memory.rss_bytes);
  if (options.bytes.bytes <= budget.bytes / kCopies) return {};
  return Refused(fmt::format("--bytes {} needs {} times as much memory, {} may be used ({})",
                             FormatSize(options.bytes), kCopies, DescribeSize(budget.bytes),
                             budget.bound_by));
}

class CodecBench {
 public:
  CodecBench(const CodecBenchOptions& options, const BenchHooks& hooks)
      : options_(options), hooks_(hooks) {}

  Result<std::vector<CodecRow>> Run() {
    PENSTOCK_TRY(std::set<std::string> codecs, ChooseCodecs(options_.codec));
    PENSTOCK_TRY(const CpuSet allowed, AllowedCpus());
    PENSTOCK_TRY(const std::vector<unsigned> cpus, ChooseThreadCpus(options_, allowed));
    PENSTOCK_TRY_VOID(CheckMemory(options_));
    // The checkpoint comes first: one that is refused should be so at once.
    PENSTOCK_TRY(const std::vector<Weights> all, Load(allowed.size()));
    PENSTOCK_TRY(const auto alone, Team::Start(std::span(cpus).first(1)));
    PENSTOCK_TRY(const auto many, Team::Start(cpus));
    const CodecSetting setting{.codecs = std::move(codecs),
                               .chunk = options_.chunk,
                               .chosen = ops::ChooseCodecKernels("auto", hooks_.notice),
                               .alone = *alone,
                               .many = options_.threads > 1 ? many.get() : nullptr};
    std::vector<CodecRow> rows;
    for (const Weights& weights : all) {
      PENSTOCK_TRY(const std::vector<CodecRow> some, MeasureOn(weights, setting));
      rows.insert(rows.end(), some.begin(), some.end());
    }
    return rows;
  }

 private:
  bool Report(const std::string& stage, std::string_view unit, uint64_t done, uint64_t total) {
    return !hooks_.progress || hooks_.progress({stage, unit, done, total});
  }

  Result<std::vector<Weights>> Load(size_t threads) {
    std::vector<Weights> all;
    const uint64_t bytes = options_.bytes.bytes;
    if (!options_.model.empty()) {
      PENSTOCK_TRY(all.emplace_back(),
                   ReadTrunk(options_.model, bytes, hooks_.notice, [&](uint64_t done) {
                     return Report("trunk: reading", "MiB", done / kMiB, bytes / kMiB);
                   }));
    }
    PENSTOCK_TRY(all.emplace_back(),
                 GenerateWeights(kWeightsSeed, bytes, threads, [&](uint64_t done) {
                   return Report("syn: generating", "MiB", done / kMiB, bytes / kMiB);
                 }));
    std::reverse(all.begin(), all.end());
    return all;
  }

  Status CheckAll(const std::vector<CodecArm>& arms, const std::string& stage) {
    for (size_t i = 0; i < arms.size(); ++i) {
      if (!Report(stage, "variants", i, arms.size())) {
        return Cancelled("stopped while variants were checked");
      }
      PENSTOCK_TRY_VOID(arms[i].check());
    }
    return {};
  }

  Result<std::vector<CodecRow>> MeasureOn(const Weights& weights, const CodecSetting& setting) {
    CodecArms arms(setting, weights);
    PENSTOCK_TRY_VOID(arms.Prepare([&](uint64_t done, uint64_t total) {
      return Report(weights.name + ": packing", "codecs", done, total);
    }));
    PENSTOCK_TRY_VOID(CheckAll(arms.arms(), weights.name + ": checking"));
    std::vector<Arm> timed;
    for (const CodecArm& arm : arms.arms()) timed.push_back({arm.row.codec, arm.run});
    MeasureOptions measure;
    measure.rounds = options_.repetitions;
    measure.go_on = [&](size_t done, size_t total) {
      return Report(weights.name + ": measuring", "runs", done, total);
    };
    PENSTOCK_TRY(const Measured measured, Measure(timed, measure));
    // What was delivered while the clock ran was right as well.
    PENSTOCK_TRY_VOID(CheckAll(arms.arms(), weights.name + ": checking again"));
    if (measured.cpu_lost > kMostCpuLost) {
      Tell(hooks_.notice,
           fmt::format("{}: others took {:.0f} % of the CPU while this was measured; the best of a "
                       "row and the ratios say more than the medians",
                       weights.name, 100 * measured.cpu_lost));
    }
    return Rows(arms.arms(), measured);
  }

  static std::optional<size_t> Find(const std::vector<CodecArm>& arms, const std::string& codec) {
    for (size_t i = 0; i < arms.size(); ++i) {
      if (arms[i].row.codec == codec) return i;
    }
    return std::nullopt;
  }

  static std::vector<CodecRow> Rows(const std::vector<CodecArm>& arms, const Measured& measured) {
    // Bytes in a nanosecond are GB in a second.
    const auto rate = [&](size_t arm, double ns) {
      return static_cast<double>(arms[arm].row.bytes) / ns;
    };
    const auto ratio = [&](size_t arm, size_t other) {
      return MedianRatio(measured.samples[other], measured.samples[arm]) *
             static_cast<double>(arms[arm].row.bytes) / static_cast<double>(arms[other].row.bytes);
    };
    const auto zstd = Find(arms, "zstd-1");
    std::vector<CodecRow> rows;
    for (size_t i = 0; i < arms.size(); ++i) {
      CodecRow row = arms[i].row;
      const Summary summary = Summarize(measured.samples[i]);
      row.gbps_best = rate(i, summary.best);
      row.gbps_median = rate(i, summary.median);
      row.spread = summary.spread;
      row.cpu_lost = measured.cpu_lost;
      if (const auto copy = Find(arms, arms[i].memcpy_row)) {
        const Summary of_copy = Summarize(measured.samples[*copy]);
        row.memcpy_best = rate(*copy, of_copy.best);
        row.memcpy_median = rate(*copy, of_copy.median);
        row.memcpy_ratio = ratio(i, *copy);
      }
      if (zstd && row.clock == "cpu") row.zstd1_ratio = ratio(i, *zstd);
      if (const auto one = Find(arms, arms[i].one_thread_row)) row.x_one_thread = ratio(i, *one);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  const CodecBenchOptions& options_;
  const BenchHooks& hooks_;
};

}  // namespace

Result<std::vector<CodecRow>> BenchCodec(const CodecBenchOptions& options,
                                         const BenchHooks& hooks) {
  return CodecBench(options, hooks).Run();
}

}  // namespace penstock::k3
