// What the versions of a sequence cost at the shapes of the release (96 heads of 128 x 128, 4 taps):
// a log of what positions put in, against a full copy of the state for each position. One thread;
// kLayers layers of 69, larger than caches together; times are for all 69.
//
//   Log/T      a step of T positions after one of T: the bases take the last step's entries in, then
//              T positions in a scratch, each with a new entry
//   Copies/T   the same positions, each from one full copy of the state to the next
//   RollBack   versions of 7 of 8 positions are dropped, in all 69 layers
//
//   ms: median thread time; mib_a_position: memory that each position of a step adds.
//
// Measured on two cores of a Zen 4 server, best of three: T = 1, 4, 8 take 68, 217 and 420 ms by log,
// 71, 235 and 448 ms by copies; 13.0 against 443.1 MiB a position. To go over the last step's entries
// again costs less than to write a copy to memory. Rolling back takes 0.008 ms.

#include <algorithm>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "models/k3/state/fold.h"
#include "models/k3/state/state.h"
#include "ops/isa.h"
#include "runtime/check.h"
#include "runtime/measure/clock.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kAllLayers = 69;
constexpr size_t kLayers = 8;

Shape KdaShape(size_t layers) {
  Shape shape;
  shape.layers = layers;
  shape.kda.assign(layers, true);
  shape.kda_heads = 96;
  shape.kda_width = 128;
  shape.conv_taps = 4;
  return shape;
}

double MedianMs(std::vector<double>& ns) {
  std::nth_element(ns.begin(), ns.begin() + static_cast<long>(ns.size() / 2), ns.end());
  return ns[ns.size() / 2] * 1e-6;
}

// The arithmetic of one new position of one head; what it reads of the entry is already in place.
struct Arithmetic {
  Arithmetic() : kernels(**ops::ChooseKernels("auto", nullptr)), taps(96 * 128 * 4, 0.25f) {}
  void Step(const KdaLayout& layout, const KdaEntry& entry, const float* before, float* after) {
    const size_t d = layout.width;
    kernels.short_conv_silu(taps.data(), history, entry.k, d, layout.taps, k);
    kernels.short_conv_silu(taps.data(), history, entry.v, d, layout.taps, v);
    kernels.short_conv_silu(taps.data(), history, entry.q, d, layout.taps, q);
    kernels.kda_step(before, q, k, v, entry.alpha, *entry.beta, d, after, out);
  }
  const ops::Kernels& kernels;
  std::vector<float> taps;
  float history[3 * 128] = {}, q[128], k[128], v[128], out[128];
};

void FillEntry(const KdaLayout& layout, float* entry) {
  for (size_t i = 0; i < layout.entry_floats(); ++i) {
    entry[i] = 0.01f * static_cast<float>(i % 89);
  }
}

void Log(benchmark::State& state) {
  const auto positions = static_cast<size_t>(state.range(0));
  const auto store = *StateStore::Create(KdaShape(kLayers), 1 << 20, positions);
  const KdaLayout& layout = store->kda_layout();
  Arithmetic arithmetic;
  const KdaTaps taps{arithmetic.taps.data(), arithmetic.taps.data()};
  std::vector<float> scratch(3 * layout.width);
  std::vector<float> own(layout.width * layout.width);
  std::vector<float> entry(layout.entry_floats());
  FillEntry(layout, entry.data());
  std::shared_ptr<const SequenceState> version = store->Empty();
  std::vector<double> ns;
  for (auto _ : state) {
    const uint64_t start = NowNs(Clock::kThreadCpu);
    const auto log = store->Begin(*version, positions);
    for (size_t layer = 0; layer < kLayers; ++layer) {
      const KdaVisit visit = *store->BeginKda(*version, *log, layer);
      for (size_t head = 0; head < layout.heads; ++head) {
        const float* before =
            AdvanceBase(*version, visit, layer, head, arithmetic.kernels, taps, scratch.data());
        const KdaEntry from(layout, entry.data(), head);
        for (size_t t = 0; t < positions; ++t) {
          float* const memory = reinterpret_cast<float*>(log->entry(layer, t).data());
          const KdaEntry to(layout, memory, head);
          std::copy_n(from.q, 4 * layout.width, to.q);
          *to.beta = *from.beta;
          arithmetic.Step(layout, to, t == 0 && before != nullptr ? before : own.data(),
                          own.data());
        }
      }
      store->EndKda(*version, *log, layer, visit);
    }
    version = StateStore::Versions(log).back();
    ns.push_back(static_cast<double>(NowNs(Clock::kThreadCpu) - start) * kAllLayers / kLayers);
  }
  const Shape all = KdaShape(kAllLayers);
  const size_t more = StateStore::Bytes(all, 4096, 9) - StateStore::Bytes(all, 4096, 8);
  state.counters["ms"] = MedianMs(ns);
  state.counters["mib_a_position"] = static_cast<double>(more) / static_cast<double>(kMiB);
}

void Copies(benchmark::State& state) {
  const auto positions = static_cast<size_t>(state.range(0));
  const KdaLayout layout{96, 128, 4};
  const size_t block = layout.bytes() / sizeof(float);
  std::vector<float> memory((positions + 1) * kLayers * block, 0.01f);
  std::vector<float> entry(layout.entry_floats());
  FillEntry(layout, entry.data());
  Arithmetic arithmetic;
  const size_t square = layout.width * layout.width;
  std::vector<double> ns;
  size_t current = 0;
  for (auto _ : state) {
    const uint64_t start = NowNs(Clock::kThreadCpu);
    for (size_t layer = 0; layer < kLayers; ++layer) {
      for (size_t head = 0; head < layout.heads; ++head) {
        const KdaEntry from(layout, entry.data(), head);
        for (size_t t = 0; t < positions; ++t) {
          const auto place = [&](size_t copy) {
            return memory.data() + (copy % (positions + 1) * kLayers + layer) * block +
                   head * layout.head_floats();
          };
          const float* const before = place(current + t);
          float* const after = place(current + t + 1);
          arithmetic.Step(layout, from, before, after);
          std::copy_n(before + square, 3 * layout.history_floats(), after + square);
        }
      }
    }
    current += positions;
    ns.push_back(static_cast<double>(NowNs(Clock::kThreadCpu) - start) * kAllLayers / kLayers);
  }
  state.counters["ms"] = MedianMs(ns);
  state.counters["mib_a_position"] =
      static_cast<double>(kAllLayers * layout.bytes()) / static_cast<double>(kMiB);
}

void RollBack(benchmark::State& state) {
  const auto store = *StateStore::Create(KdaShape(kAllLayers), 4096, 8);
  const auto empty = store->Empty();
  std::vector<double> ns;
  for (auto _ : state) {
    const auto log = store->Begin(*empty, 8);
    for (size_t layer = 0; layer < kAllLayers; ++layer) {
      PENSTOCK_CHECK(store->BeginKda(*empty, *log, layer).has_value());
    }
    auto versions = StateStore::Versions(log);
    const uint64_t start = NowNs(Clock::kThreadCpu);
    versions.resize(1);
    ns.push_back(static_cast<double>(NowNs(Clock::kThreadCpu) - start));
  }
  state.counters["ms"] = MedianMs(ns);
}

BENCHMARK(Log)->Arg(1)->Arg(4)->Arg(8)->Unit(benchmark::kMillisecond);
BENCHMARK(Copies)->Arg(1)->Arg(4)->Arg(8)->Unit(benchmark::kMillisecond);
BENCHMARK(RollBack)->Iterations(50);

}  // namespace
}  // namespace penstock::k3
