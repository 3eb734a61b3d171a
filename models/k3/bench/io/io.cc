#include "models/k3/bench/io/io.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/queue/measure/sequential_reads.h"
#include "models/k3/bench/io/fio.h"
#include "runtime/machine/block_device.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/statistics.h"
#include "runtime/options/list.h"

namespace penstock::k3 {
namespace {

constexpr uint64_t kExtent = io::SequentialReads::kExtentBytes;
constexpr uint64_t kTrialBytes = 256 * kMiB;

struct SizedFile {
  std::string path;
  uint64_t bytes = 0;
};

// Files of at least one extent, the largest first.
Result<std::vector<SizedFile>> FindFiles(const std::string& model) {
  namespace fs = std::filesystem;
  std::vector<SizedFile> found;
  std::error_code failure;
  const auto add = [&](const fs::path& path) {
    std::error_code of_file;
    if (!fs::is_regular_file(path, of_file)) return;
    const uint64_t bytes = fs::file_size(path, of_file);
    if (!of_file && bytes >= kExtent) found.push_back({path.string(), bytes});
  };
  if (fs::is_directory(model, failure)) {
    for (const auto& entry : fs::directory_iterator(model, failure)) add(entry.path());
  } else {
    add(model);
  }
  if (found.empty()) {
    return Refused(fmt::format("{} is no file of at least {} and no directory with one", model,
                               FormatSize({kExtent})));
  }
  std::sort(found.begin(), found.end(), [](const SizedFile& a, const SizedFile& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.path < b.path;
  });
  return found;
}

Result<std::vector<std::string>> ParseEngines(const std::string& text) {
  std::vector<std::string> engines;
  for (const std::string& engine : SplitAtCommas(text)) {
    if (engine != "io_uring" && engine != "pread") {
      return Refused(
          fmt::format("--ioengine \"{}\": \"{}\" is neither io_uring nor pread", text, engine));
    }
    engines.push_back(engine);
  }
  return engines;
}

// Where runs of equal size lie, one after the other through all files and then again.
class Places {
 public:
  Places(const std::vector<SizedFile>& files, uint64_t run_bytes) : run_bytes_(run_bytes) {
    for (const SizedFile& file : files) {
      if (file.bytes >= run_bytes) bytes_.push_back(file.bytes);
    }
  }

  struct Place {
    io::FileId file = 0;
    uint64_t offset = 0;
  };
  Place Next() {
    if (at_.offset + run_bytes_ > bytes_[at_.file]) {
      at_ = {static_cast<io::FileId>((at_.file + 1) % bytes_.size()), 0};
    }
    const Place place = at_;
    at_.offset += run_bytes_;
    return place;
  }

 private:
  const uint64_t run_bytes_;
  std::vector<uint64_t> bytes_;
  Place at_;
};

class IoBench {
 public:
  IoBench(const IoBenchOptions& options, const BenchHooks& hooks)
      : options_(options), hooks_(hooks) {}

  Result<IoReport> Run() {
    if (options_.model.empty() && options_.demands == 0) {
      return Refused("nothing is to be measured: give a file with -m, or --demands");
    }
    if (!options_.model.empty()) PENSTOCK_TRY_VOID(MeasureRates());
    if (options_.demands > 0) PENSTOCK_TRY_VOID(MeasureDemands());
    return std::move(report_);
  }

 private:
  struct IoArm {
    std::string name;
    std::string how;
    std::unique_ptr<io::SequentialReads> reads;  // None: fio's.
    const FioConfig* fio = nullptr;
    std::vector<double> cpu_seconds_per_gb;
  };

  bool Report(std::string_view stage, std::string_view unit, uint64_t done, uint64_t total) {
    return !hooks_.progress || hooks_.progress({stage, unit, done, total});
  }

  Status MakeArms(const std::vector<std::string>& engines) {
    for (const std::string& engine : engines) {
      io::IoOptions io;
      io.ioengine = engine;
      io.bs = options_.bs;
      io.iodepth = options_.iodepth;
      PENSTOCK_TRY(auto reads, io::SequentialReads::Make(io, report_.files, hooks_.notice));
      std::string how = reads->reader().Describe();
      arms_.push_back({engine, std::move(how), std::move(reads), nullptr, {}});
    }
    if (options_.fio == "0") {
      report_.fio = "fio was not asked for";
      return {};
    }
    auto version = FioVersion();
    if (!version && options_.fio == "1") return Refused(version.error().message);
    report_.fio = version ? *version : version.error().message;
    if (!version) return {};
    for (const FioConfig& config : FioConfigs()) {
      arms_.push_back(
          {config.name, fmt::format("{}", fmt::join(config.arguments, " ")), nullptr, &config, {}});
    }
    return {};
  }

  // As many bytes as the first engine reads in the time of a run, within the largest file.
  Status ChooseRunBytes(const std::vector<SizedFile>& files) {
    const uint64_t largest = files.front().bytes / kExtent * kExtent;
    PENSTOCK_TRY(const io::ReadCost trial,
                 arms_.front().reads->Run(0, 0, std::min(kTrialBytes, largest)));
    const double rate = static_cast<double>(trial.bytes) / static_cast<double>(trial.wall_ns);
    const auto wanted = static_cast<uint64_t>(rate * static_cast<double>(options_.seconds.ns));
    report_.run_bytes = std::clamp(wanted / kExtent * kExtent, kExtent, largest);
    return {};
  }

  Result<double> RunOnce(IoArm* arm, Places::Place place) {
    double cpu = 0, ns = 0, bytes = 0;
    if (arm->fio != nullptr) {
      PENSTOCK_TRY(const FioCost cost,
                   RunFio(*arm->fio, report_.files[place.file], place.offset, report_.run_bytes));
      bytes = static_cast<double>(cost.bytes);
      ns = static_cast<double>(report_.run_bytes) * 1e9 / cost.bytes_per_second;
      cpu = cost.cpu_seconds;
    } else {
      PENSTOCK_TRY(const io::ReadCost cost,
                   arm->reads->Run(place.file, place.offset, report_.run_bytes));
      bytes = static_cast<double>(cost.bytes);
      ns = static_cast<double>(cost.wall_ns);
      cpu = static_cast<double>(cost.cpu_ns) / 1e9;
    }
    arm->cpu_seconds_per_gb.push_back(cpu * 1e9 / bytes);
    asked_bytes_ += bytes;
    return ns;
  }

  Status MeasureRates() {
    PENSTOCK_TRY(const std::vector<std::string> engines, ParseEngines(options_.ioengine));
    PENSTOCK_TRY(const std::vector<SizedFile> files, FindFiles(options_.model));
    for (const SizedFile& file : files) report_.files.push_back(file.path);
    PENSTOCK_TRY_VOID(MakeArms(engines));
    PENSTOCK_TRY_VOID(ChooseRunBytes(files));
    report_.rounds = options_.repetitions;
    Places places(files, report_.run_bytes);
    Status outcome;
    std::vector<Arm> timed;
    for (IoArm& arm : arms_) {
      timed.push_back({arm.name, [&] {
                         if (!outcome) return 0.0;
                         const auto ns = RunOnce(&arm, places.Next());
                         if (!ns) outcome = ns.error();
                         return ns ? *ns : 0.0;
                       }});
    }
    MeasureOptions measure;
    measure.rounds = options_.repetitions;
    measure.go_on = [&](size_t done, size_t total) {
      return outcome && Report("reading in order", "runs", done, total);
    };
    const auto device = FindBlockDevice(report_.files.front());
    const Result<uint64_t> before = device ? ReadDeviceBytes(*device) : device.error();
    const auto measured = Measure(timed, measure);
    PENSTOCK_TRY_VOID(outcome);
    if (!measured) return measured.error();
    const Result<uint64_t> after = device ? ReadDeviceBytes(*device) : device.error();
    if (before && after) {
      report_.kernel_bytes_ratio = static_cast<double>(*after - *before) / asked_bytes_;
    }
    Fill(*measured);
    return {};
  }

  // The arm of fio with the best median.
  std::optional<size_t> BestOfFio(const std::vector<Summary>& summaries) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < arms_.size(); ++i) {
      if (arms_[i].fio == nullptr) continue;
      if (!best || summaries[i].median < summaries[*best].median) best = i;
    }
    return best;
  }

  void Fill(const Measured& measured) {
    report_.cpu_lost = measured.cpu_lost;
    TellLost("reading in order was", measured.cpu_lost);
    std::vector<Summary> summaries;
    for (const auto& samples : measured.samples) summaries.push_back(Summarize(samples));
    const auto fio = BestOfFio(summaries);
    double fio_best = fio ? summaries[*fio].best : 0;
    for (size_t i = 0; i < arms_.size(); ++i) {
      if (arms_[i].fio != nullptr) fio_best = std::min(fio_best, summaries[i].best);
    }
    const auto bytes = static_cast<double>(report_.run_bytes);
    for (size_t i = 0; i < arms_.size(); ++i) {
      IoRow row{.arm = arms_[i].name, .how = arms_[i].how};
      row.gbps_best = bytes / summaries[i].best;
      row.gbps_median = bytes / summaries[i].median;
      row.spread = summaries[i].spread;
      // The first is that of the round in which everything becomes warm.
      row.cpu_seconds_per_gb = Median(std::span(arms_[i].cpu_seconds_per_gb).subspan(1));
      if (fio) {
        row.fio_best_ratio = fio_best / summaries[i].best;
        row.fio_median_ratio = MedianRatio(measured.samples[*fio], measured.samples[i]);
      }
      report_.rows.push_back(std::move(row));
    }
  }

  Status MeasureDemands() {
    io::DemandOptions demand;
    demand.pace = options_.pace;
    demand.bs = options_.bs;
    demand.iodepth = options_.iodepth;
    demand.demands = options_.demands;
    demand.go_on = [&](uint64_t done, uint64_t total) {
      return Report("demanded reads behind a busy trunk", "reads", done, total);
    };
    PENSTOCK_TRY(report_.demanded, io::MeasureDemandLatency(demand));
    report_.pace = options_.pace;
    TellLost("demanded reads were", report_.demanded->cpu_lost);
    return {};
  }

  void TellLost(std::string_view what, double lost) {
    if (lost <= kMostCpuLost) return;
    Tell(hooks_.notice, fmt::format("others took {:.0f} % of the CPU while {} measured: discard "
                                    "this, all but what was best",
                                    100 * lost, what));
  }

  const IoBenchOptions& options_;
  const BenchHooks& hooks_;
  IoReport report_;
  std::vector<IoArm> arms_;
  double asked_bytes_ = 0;
};

}  // namespace

Result<IoReport> BenchIo(const IoBenchOptions& options, const BenchHooks& hooks) {
  return IoBench(options, hooks).Run();
}

}  // namespace penstock::k3
