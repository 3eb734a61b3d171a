#include "models/k3/bench/token/graph_cost.h"

#include "graph/graph.h"
#include "runtime/measure/clock.h"

namespace penstock::k3 {
namespace {

constexpr size_t kMessages = 20'000;

struct Ball {
  size_t left = 0;  // How often it is passed on.
};

// As advance and product: what is serial hands to what is wide, which hands back.
class Rally {
 public:
  explicit Rally(graph::Arena& arena)
      : graph_(arena),
        serial_(graph_, "serial", 1, [](const Ball& ball, auto& out) { Pass(ball, out); }),
        wide_(graph_, "wide", 0, [](const Ball& ball, auto& out) { Pass(ball, out); }) {
    graph::Connect(serial_, wide_);
    graph::Connect(wide_, serial_);
  }

  void Play(size_t balls) {
    for (size_t i = 0; i < balls; ++i) serial_.Put({kMessages / balls});
    graph_.WaitIdle();
  }

 private:
  template <class Out>
  static void Pass(const Ball& ball, Out& out) {
    if (ball.left > 1) out.template Put<0>(Ball{ball.left - 1});
  }

  graph::Graph graph_;
  graph::Stage<Ball, Ball> serial_;
  graph::Stage<Ball, Ball> wide_;
};

}  // namespace

double MessageNs(size_t threads) {
  graph::Arena arena(threads, {});
  Rally rally(arena);
  const size_t balls = 2 * threads;
  rally.Play(balls);  // The workers start.
  const uint64_t start = NowNs(Clock::kProcessCpu);
  rally.Play(balls);
  return static_cast<double>(NowNs(Clock::kProcessCpu) - start) /
         static_cast<double>(kMessages / balls * balls);
}

}  // namespace penstock::k3
