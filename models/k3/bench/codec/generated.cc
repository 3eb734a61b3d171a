#include "models/k3/bench/codec/generated.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>
#include <thread>
#include <vector>

#include "models/k3/synth/numbers.h"

namespace penstock::k3 {
namespace {

struct Pair {
  double a, b;
};

// The random numbers of one row, from a state of its own.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t row) : state_(SplitMix(SplitMix(seed + kSplitMixStep) + row)) {}

  uint64_t Next() { return SplitMix(state_ += kSplitMixStep); }
  // In (0, 1).
  double Uniform() { return (static_cast<double>(Next() >> 12) + 0.5) * 0x1p-52; }
  // Two independent normal numbers (Box and Muller 1958).
  Pair Normals() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    const double angle = 2 * std::numbers::pi * Uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }
  // Student's t with five degrees of freedom. Chi square with four of them is the sum of two
  // exponential numbers, -2 log(u v).
  double Student() {
    const Pair normals = Normals();
    const double four = -2 * std::log(Uniform() * Uniform());
    return normals.a / std::sqrt((four + normals.b * normals.b) / 5);
  }

 private:
  uint64_t state_;
};

uint16_t Bf16(double value) { return RoundToBf16(static_cast<float>(value)); }

void FillRow(uint64_t seed, uint64_t row, std::span<uint16_t> out) {
  Draws draws(seed, row);
  const double scale = 0.02 * std::exp(0.25 * draws.Normals().a);
  if (draws.Next() % 4 == 0) {
    for (uint16_t& weight : out) weight = Bf16(scale * draws.Student());
    return;
  }
  for (size_t i = 0; i < out.size(); i += 2) {
    const Pair normals = draws.Normals();
    out[i] = Bf16(scale * normals.a);
    if (i + 1 < out.size()) out[i + 1] = Bf16(scale * normals.b);
  }
}

// Rows that a thread takes at a time.
constexpr size_t kRowsAtOnce = 64;

// Fills everything on several threads, the caller among them. False when it was stopped.
bool Fill(uint64_t seed, std::span<uint16_t> out, size_t threads,
          const std::function<bool(uint64_t)>& go_on) {
  constexpr size_t kStep = kRowsAtOnce * kGeneratedRow;
  std::atomic<size_t> next{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](bool asks) {
    for (size_t at = next.fetch_add(kStep); at < out.size(); at = next.fetch_add(kStep)) {
      if (asks && !go_on(2 * at)) stopped = true;
      if (stopped) return;
      GenerateRows(seed, at / kGeneratedRow, out.subspan(at, std::min(kStep, out.size() - at)));
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(work, false);
  work(true);
  for (std::thread& thread : others) thread.join();
  return !stopped;
}

}  // namespace

void GenerateRows(uint64_t seed, uint64_t first_row, std::span<uint16_t> out) {
  for (size_t at = 0; at < out.size(); at += kGeneratedRow) {
    FillRow(seed, first_row + at / kGeneratedRow,
            out.subspan(at, std::min(kGeneratedRow, out.size() - at)));
  }
}

Result<Weights> GenerateWeights(uint64_t seed, size_t bytes, size_t threads,
                                const std::function<bool(uint64_t done)>& go_on) {
  Weights weights;
  weights.name = "syn";
  weights.bytes = bytes / 2 * 2;
  PENSTOCK_TRY(weights.memory, HugeRegion::Map(weights.bytes));
  const std::span all(reinterpret_cast<uint16_t*>(weights.memory.data()), weights.bytes / 2);
  if (!go_on(0) || !Fill(seed, all, threads, go_on)) {
    return Cancelled("stopped while weights were made");
  }
  constexpr size_t kWholeRows = kStripeBytes / (2 * kGeneratedRow) * (2 * kGeneratedRow);
  for (size_t at = 0; at < weights.bytes; at += kWholeRows) {
    weights.stripes.emplace_back(weights.memory.data() + at,
                                 std::min(kWholeRows, weights.bytes - at));
  }
  return weights;
}

}  // namespace penstock::k3
