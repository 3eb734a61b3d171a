// What a trace costs a step of the embedded checkpoint, whose bodies are far shorter than those of a
// model that is worth tracing: steps of one engine in turns, without an observer, with one outside
// of its steps, and with one that records. Run it in the directory of the sources.
//
//   Step   off_us, waiting_us, recording_us: median wall time of a step;
//          waiting, recording: median of the ratios to the step without, pair by pair.
//
// --trace-steps chooses the steps that pay for recording; all others are "waiting". Without --trace
// they are "off", which differs from a program without tracing by bench/graph/stage_bench.cc.

#include <vector>

#include <benchmark/benchmark.h>

#include "models/k3/engine.h"
#include "runtime/check.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/statistics.h"

namespace penstock::k3 {
namespace {

class Stepper {
 public:
  Stepper() {
    PipelineOptions options;
    options.pin = "99";
    io::IoOptions io_options;
    io_options.ioengine = "memory";
    auto engine =
        Engine::Open(PENSTOCK_SOURCE_DIR "/models/k3/tiny", 64, options, io_options, nullptr);
    PENSTOCK_CHECK(engine.has_value());
    engine_ = std::move(*engine);
    state_ = engine_->EmptyState();
  }

  Engine& engine() { return *engine_; }

  // The same step each time.
  double Step(StepObserver* observer) {
    engine_->Observe(observer);
    const auto step = Timed(Clock::kWall, [&] {
      const text::TokenId token = 5;
      PENSTOCK_CHECK(engine_->Step(state_, std::span(&token, 1)).has_value());
    });
    const double ns = step();
    engine_->Observe(nullptr);
    return ns;
  }

 private:
  std::unique_ptr<Engine> engine_;
  text::StateRef state_;
};

void Step(benchmark::State& state) {
  Stepper stepper;
  StepTrace waiting(stepper.engine().Traced(), {~uint64_t{0}, ~uint64_t{0}});
  StepTrace recording(stepper.engine().Traced(), {0, ~uint64_t{0}});
  std::vector<double> off_ns, waiting_ns, recording_ns;
  for (int i = 0; i < 20; ++i) stepper.Step(nullptr);
  for ([[maybe_unused]] auto _ : state) {
    off_ns.push_back(stepper.Step(nullptr));
    waiting_ns.push_back(stepper.Step(&waiting));
    recording_ns.push_back(stepper.Step(&recording));
  }
  state.counters["off_us"] = Median(off_ns) * 1e-3;
  state.counters["waiting_us"] = Median(waiting_ns) * 1e-3;
  state.counters["recording_us"] = Median(recording_ns) * 1e-3;
  state.counters["waiting"] = MedianRatio(waiting_ns, off_ns);
  state.counters["recording"] = MedianRatio(recording_ns, off_ns);
}

BENCHMARK(Step)->Unit(benchmark::kMicrosecond)->UseRealTime()->Iterations(400);

}  // namespace
}  // namespace penstock::k3
