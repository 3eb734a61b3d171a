// racy_graph racy|clean: a stage whose bodies share a counter, unprotected or atomic.
//
// Under ThreadSanitizer, with tests/tsan.supp and the hand-overs of graph/handover.h, the first must
// be reported and the second must not: otherwise a run without reports would say nothing about the
// bodies of the real graph.

#include <atomic>
#include <string_view>
#include <thread>

#include "graph/graph.h"

namespace {

// Lets the bodies of a wide stage count. The first two wait for each other, so that two threads take
// part even on one CPU.
template <class Counter>
void Count(Counter& counter) {
  constexpr int kMessages = 16;
  penstock::graph::Arena arena(4, {});
  penstock::graph::Graph graph(arena);
  std::atomic<int> arrived = 0;
  std::atomic<int> left = kMessages;
  penstock::graph::Stage<int> stage(graph, "count", 0, [&](int, auto&) {
    arrived.fetch_add(1, std::memory_order_relaxed);
    while (arrived.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) counter = counter + 1;
    if (left.fetch_sub(1, std::memory_order_relaxed) == 1) graph.outcome().Finish();
  });
  graph.outcome().Begin();
  for (int message = 0; message < kMessages; ++message) stage.Put(message);
  (void)graph.outcome().Wait().has_value();
  graph.WaitIdle();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::string_view(argv[1]) == "racy") {
    volatile int counter = 0;
    Count(counter);
  } else {
    std::atomic<int> counter = 0;
    Count(counter);
  }
  return 0;
}
