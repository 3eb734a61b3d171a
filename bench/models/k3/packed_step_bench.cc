// What a pack of the trunk saves of a step, from a device of known speed: the memory engine, whose
// reads cost no CPU, paced. Raw and packed steps take turns; the counters compare them pair by pair.
//
//   build/release/bench/penstock_k3_bench --benchmark_filter=PackedStep
//
// ratio: median of packed / raw. ideal: what the bytes alone would give at that pace.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "models/k3/engine.h"
#include "models/k3/pack/pack.h"
#include "models/k3/synth/synth.h"
#include "runtime/check.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/statistics.h"

namespace penstock::k3 {
namespace {

// A checkpoint whose step is its trunk, 280 MB, and a pack of it; gone when the program ends.
class Checkpoint {
 public:
  Checkpoint() {
    SynthOptions synth;
    synth.out = directory("checkpoint");
    synth.layers = 4;
    synth.hidden = 2048;
    synth.vocab = 8192;
    synth.kda_heads = synth.mla_heads = 16;
    synth.kda_width = 128;
    synth.q_rank = synth.kv_rank = 512;
    synth.nope = synth.value = 128;
    synth.dense_width = 8192;
    synth.experts = 4;
    synth.top_k = 1;
    PENSTOCK_CHECK(Synthesize(synth, {}).has_value());
    PackOptions pack;
    pack.model = synth.out;
    pack.out = directory("pack");
    pack.codec = "chain";
    PackWatch watch;
    watch.begin = [](const std::string&, uint64_t, uint64_t) {};
    watch.advance = [](uint64_t) {};
    PENSTOCK_CHECK(WritePack(pack, watch).has_value());
  }
  ~Checkpoint() { std::filesystem::remove_all(path_); }

  std::string directory(const std::string& name) const { return path_ + "/" + name; }

 private:
  const std::string path_ = std::filesystem::temp_directory_path().string() + "/penstock_bench_" +
                            std::to_string(getpid());
};

const Checkpoint& TheCheckpoint() {
  static const Checkpoint checkpoint;
  return checkpoint;
}

// One sequence, always from its beginning: the context must not grow with the repetitions.
class Stepper {
 public:
  Stepper(const std::string& pack, const std::string& decode, const std::string& pace) {
    PipelineOptions options;
    options.pack = pack;
    options.decode = decode;
    io::IoOptions io_options;
    io_options.ioengine = "memory";
    io_options.pace = pace;
    auto engine =
        Engine::Open(TheCheckpoint().directory("checkpoint"), 4, options, io_options, nullptr);
    PENSTOCK_CHECK(engine.has_value());
    engine_ = std::move(*engine);
    engine_->ExpectMore(false);  // Nothing is read ahead while the other one's step runs.
  }
  void Step() {
    const text::TokenId id = 7;
    PENSTOCK_CHECK(engine_->Step(engine_->EmptyState(), std::span(&id, 1)).has_value());
  }
  double bytes() const {
    const StepStats& stats = engine_->last_step();
    return static_cast<double>(stats.trunk_bytes + stats.head_bytes + stats.expert_bytes);
  }

 private:
  std::unique_ptr<Engine> engine_;
};

void PackedStep(benchmark::State& state, const std::string& pace, const std::string& decode) {
  Stepper raw("", "auto", pace);
  Stepper packed(TheCheckpoint().directory("pack"), decode, pace);
  std::vector<double> raw_ns;
  std::vector<double> packed_ns;
  const auto time_raw = Timed(Clock::kWall, [&] { raw.Step(); });
  const auto time_packed = Timed(Clock::kWall, [&] { packed.Step(); });
  time_raw();  // Caches and pages become warm.
  time_packed();
  for ([[maybe_unused]] auto _ : state) {
    raw_ns.push_back(time_raw());
    packed_ns.push_back(time_packed());
  }
  state.counters["raw_ms"] = Median(raw_ns) * 1e-6;
  state.counters["packed_ms"] = Median(packed_ns) * 1e-6;
  state.counters["ratio"] = MedianRatio(packed_ns, raw_ns);
  state.counters["ideal"] = packed.bytes() / raw.bytes();
}

BENCHMARK_CAPTURE(PackedStep, 1G_fused, "1G", "fused")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(PackedStep, 1G_node, "1G", "node")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(PackedStep, 7G_fused, "7G", "fused")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(PackedStep, 7G_node, "7G", "node")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace penstock::k3
