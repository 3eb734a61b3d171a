#include "models/k3/plan/calibrate.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "models/k3/bench/codec/team.h"
#include "runtime/check.h"
#include "runtime/measure/clock.h"
#include "runtime/memory/region.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kCols = 7168;      // The release's hidden width.
constexpr size_t kHeadWidth = 128;  // And that of a KDA head.
constexpr size_t kStateHeads = 48;
constexpr int kRepetitions = 5;

// Weights and vectors of one thread.
class CoreBench {
 public:
  static Result<std::unique_ptr<CoreBench>> Create(const ops::Kernels& kernels, size_t bytes) {
    std::unique_ptr<CoreBench> made(new CoreBench(kernels, bytes));
    PENSTOCK_TRY(made->weights_, HugeRegion::Map(bytes));
    return made;
  }

  // On the thread that uses it. Values do not matter for the time, as long as none is subnormal.
  void Fill() {
    std::memset(weights_.data(), 0x3b, weights_.size());
    kernels_.mxfp4_prepare(x_.data(), kCols, kCols, 1, scratch_.data());
  }

  // Each answers bytes a second.
  double Bf16() {
    const size_t rows = bytes_ / (2 * kCols);
    return Rate(2 * rows * kCols, [&] {
      kernels_.matvec_bf16(reinterpret_cast<const uint16_t*>(weights_.data()), rows, kCols,
                           x_.data(), kCols, 1, y_.data(), rows);
    });
  }
  double Mxfp4() {
    const size_t rows = bytes_ / kCols;  // Codes and scales take a little more than half of it.
    const auto* codes = reinterpret_cast<const uint8_t*>(weights_.data());
    const uint8_t* scales = codes + rows * kCols / 2;
    return Rate(rows * kCols / 32 * 17, [&] {
      kernels_.matvec_mxfp4(codes, scales, rows, kCols, scratch_.data(), 1, y_.data(), rows);
    });
  }
  double State() {
    constexpr size_t kFloats = kHeadWidth * kHeadWidth;
    float* const before = reinterpret_cast<float*>(weights_.data());
    float* const after = before + kStateHeads * kFloats;
    return Rate(2 * kStateHeads * kFloats * sizeof(float), [&] {
      for (size_t head = 0; head < kStateHeads; ++head) {
        kernels_.kda_step(before + head * kFloats, x_.data(), x_.data(), x_.data(), x_.data(), 0.5f,
                          kHeadWidth, after + head * kFloats, y_.data());
      }
    });
  }

 private:
  CoreBench(const ops::Kernels& kernels, size_t bytes)
      : kernels_(kernels),
        bytes_(bytes),
        x_(kCols, 0.01f),
        y_(bytes / kCols + kHeadWidth),
        scratch_(ops::Mxfp4ScratchFloats(kCols, 1)) {}

  static double Rate(size_t bytes, const std::function<void()>& work) {
    std::vector<uint64_t> ns(kRepetitions);
    for (uint64_t& one : ns) {
      const uint64_t start = NowNs(Clock::kThreadCpu);
      work();
      one = std::max<uint64_t>(NowNs(Clock::kThreadCpu) - start, 1);
    }
    std::nth_element(ns.begin(), ns.begin() + kRepetitions / 2, ns.end());
    return static_cast<double>(bytes) / static_cast<double>(ns[kRepetitions / 2]) * 1e9;
  }

  const ops::Kernels& kernels_;
  const size_t bytes_;
  HugeRegion weights_;
  std::vector<float> x_, y_, scratch_;
};

Result<MachineRates> Measure(MachineRates rates, const CpuSet& cpus, const ops::Kernels& kernels,
                             size_t bytes) {
  PENSTOCK_TRY(const std::unique_ptr<Team> team, Team::Start(cpus.cpus));
  std::vector<std::unique_ptr<CoreBench>> benches(team->size());
  for (auto& bench : benches) {
    PENSTOCK_TRY(bench, CoreBench::Create(kernels, bytes));
  }
  std::vector<double> together(team->size());
  team->Run([&](size_t member) { benches[member]->Fill(); });
  rates.bf16 = benches[0]->Bf16();
  rates.mxfp4 = benches[0]->Mxfp4();
  team->Run([&](size_t member) { together[member] = benches[member]->Bf16(); });
  rates.memory = 0;
  for (const double rate : together) rates.memory += rate;
  rates.memory = std::max(rates.memory, rates.bf16);
  rates.state = benches[0]->State();
  return rates;
}

}  // namespace

Result<MachineRates> Calibrate(MachineRates rates, const CpuSet& cpus, const ops::Kernels& kernels,
                               size_t bytes) {
  PENSTOCK_CHECK(bytes >= 2 * kStateHeads * kHeadWidth * kHeadWidth * sizeof(float));
  // On a thread of its own: the team pins the one that starts it.
  std::optional<Result<MachineRates>> measured;
  std::thread([&] { measured = Measure(rates, cpus, kernels, bytes); }).join();
  return *std::move(measured);
}

}  // namespace penstock::k3
