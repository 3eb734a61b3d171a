// What a graph pays for the possibility of being observed, and for a trace, a body.
//
//   BM_BodyWithout     what RunBody does besides, written out here: clock, counters, exceptions.
//   BM_BodyUnobserved  RunBody without an observer: one more load and branch.
//   BM_BodyTraced      RunBody with an observer that records into a Trace.
//
// The claim: the difference of the first two is below 0.5 % of a body of 100 us (a block of 1 MiB at
// 10 GB/s), by far. Compare lines of one run, --benchmark_repetitions=15
// --benchmark_enable_random_interleaving=true, best and median.

#include <exception>

#include <benchmark/benchmark.h>

#include "graph/graph.h"
#include "runtime/trace/trace.h"

namespace penstock::graph {
namespace {

struct Message {
  uint32_t number = 0;
};
Subject SubjectOf(const Message& message) { return {.part = message.number}; }

// A graph with a node and nothing that runs by itself.
struct Bare {
  Arena arena{1, {}};
  Graph graph{arena};
  NodeFacts& node{graph.picture().Add("node", "box", 1)};
};

template <class Work>
void BodyWithout(NodeFacts& node, Graph& graph, Work&& work) {
  const uint64_t start = NowNs(Clock::kWall);
  try {
    work();
  } catch (const std::exception& stray) {
    graph.outcome().Fail(Failed("stage " + node.name + " failed: " + stray.what()));
  }
  node.Count(NowNs(Clock::kWall) - start);
}

void BM_BodyWithout(benchmark::State& state) {
  Bare bare;
  Message message;
  for ([[maybe_unused]] auto _ : state) {
    BodyWithout(bare.node, bare.graph, [&] { benchmark::DoNotOptimize(++message.number); });
  }
}

void BM_BodyUnobserved(benchmark::State& state) {
  Bare bare;
  Message message;
  for ([[maybe_unused]] auto _ : state) {
    RunBody(bare.node, bare.graph, message, [&] { benchmark::DoNotOptimize(++message.number); });
  }
}

class Recorder : public Observer {
 public:
  Recorder() : lane_(trace_.AddLane("lane")), name_(trace_.AddName("node", {"number", "", ""})) {}
  void Begins(const NodeFacts& /*node*/, Subject* /*subject*/) override {}
  void Ended(const NodeFacts& /*node*/, const Subject& subject, uint64_t start_ns,
             uint64_t end_ns) override {
    trace_.Span(lane_, name_, start_ns, end_ns, {subject.part, Trace::kNoValue, Trace::kNoValue});
  }

 private:
  Trace trace_{1, size_t{1} << 22,
               0};  // What comes behind it is dropped, at the same cost or less.
  Trace::Id lane_;
  Trace::Id name_;
};

void BM_BodyTraced(benchmark::State& state) {
  Bare bare;
  Recorder recorder;
  bare.graph.Observe(&recorder);
  Message message;
  for ([[maybe_unused]] auto _ : state) {
    RunBody(bare.node, bare.graph, message, [&] { benchmark::DoNotOptimize(++message.number); });
  }
}

BENCHMARK(BM_BodyWithout);
BENCHMARK(BM_BodyUnobserved);
BENCHMARK(BM_BodyTraced);

}  // namespace
}  // namespace penstock::graph
