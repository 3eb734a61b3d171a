// racy_graph racy|clean: a flow graph whose bodies share a counter, unprotected or atomic.
//
// Under ThreadSanitizer with tests/tsan.supp the first must be reported and the second must not:
// otherwise a run without reports would say nothing about the bodies of the real graph.

#include <atomic>
#include <string_view>
#include <thread>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

namespace {

// Lets the bodies of an unlimited node count. The first two wait for each other, so that two
// threads take part even on one CPU.
template <class Counter>
void Count(Counter& counter) {
  namespace flow = oneapi::tbb::flow;
  const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                            4);
  oneapi::tbb::task_arena arena(4);
  arena.execute([&] {
    std::atomic<int> arrived = 0;
    flow::graph graph;
    flow::function_node<int> node(graph, flow::unlimited, [&](int) {
      arrived.fetch_add(1, std::memory_order_relaxed);
      while (arrived.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) counter = counter + 1;
    });
    for (int message = 0; message < 16; ++message) node.try_put(message);
    graph.wait_for_all();
  });
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
