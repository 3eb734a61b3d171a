#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <oneapi/tbb/flow_graph.h>

#include "graph/arena.h"
#include "graph/handover.h"
#include "graph/observer.h"
#include "graph/outcome.h"
#include "graph/picture.h"
#include "runtime/measure/clock.h"

namespace penstock::graph {

// A flow graph that lives in one arena, with the picture of itself and one outcome per run.
//
// Bodies and messages are copied by TBB: bodies hold pointers to services, messages hold
// references. An exception in a body would cancel the whole graph and lose every message in it, so
// each body is wrapped: what it throws becomes the run's Error. The graph must be destroyed before
// the services its bodies point to.
class Graph {
 public:
  explicit Graph(Arena& arena) {
    Handover::Give();
    arena.tbb().execute([this] {  // On a worker, when the arena has no slot for the caller.
      Handover::Take();
      flow_ = std::make_unique<oneapi::tbb::flow::graph>();
      Handover::Give();
    });
    Handover::Take();
  }

  oneapi::tbb::flow::graph& flow() { return *flow_; }
  Picture& picture() { return picture_; }
  const Picture& picture() const { return picture_; }
  Outcome& outcome() { return outcome_; }

  // Told of every body from now on; null for nobody. Borrowed; set while no body runs.
  void Observe(Observer* observer) { observer_.store(observer, std::memory_order_release); }
  Observer* observer() const { return observer_.load(std::memory_order_acquire); }

  // Returns when no body runs and no async stage owes a reply. Never call it from a body.
  void WaitIdle() {
    Handover::Give();
    flow_->wait_for_all();
    Handover::Take();
  }

 private:
  Picture picture_;
  Outcome outcome_;
  std::atomic<Observer*> observer_{nullptr};
  std::unique_ptr<oneapi::tbb::flow::graph> flow_;
};

// Runs `work` for one message of `node`: counted, timed, told to the observer, and with strays
// turned into an Error.
template <class In, class Work>
void RunBody(NodeFacts& node, Graph& graph, const In& in, Work&& work) {
  const uint64_t start = NowNs(Clock::kWall);
  Observer* const observer = graph.observer();
  Subject subject;
  if (observer != nullptr) [[unlikely]] {
    subject = SubjectOf(in);
    observer->Begins(node, &subject);
  }
  try {
    work();
  } catch (const std::exception& stray) {
    graph.outcome().Fail(Failed("stage " + node.name + " failed: " + stray.what()));
  } catch (...) {
    graph.outcome().Fail(Failed("stage " + node.name + " failed"));
  }
  const uint64_t end = NowNs(Clock::kWall);
  node.Count(end - start);
  if (observer != nullptr) [[unlikely]]
    observer->Ended(node, subject, start, end);
  Handover::Give();  // For the next body of a serial stage, and for WaitIdle.
}

// A stage of the graph: a named body that takes one message and may put any number of messages to
// each of its outputs. Width 1 is serial and keeps order; 0 runs as wide as the arena.
//   body: void(const In&, Stage::Outputs& out);  out.Put<0>(message)
template <class In, class... Outs>
class Stage {
 public:
  using Tuple =
      std::conditional_t<sizeof...(Outs) == 0, std::tuple<oneapi::tbb::flow::continue_msg>,
                         std::tuple<Outs...>>;
  using Node = oneapi::tbb::flow::multifunction_node<In, Tuple>;

  class Outputs {
   public:
    explicit Outputs(typename Node::output_ports_type& ports) : ports_(&ports) {}
    template <size_t I, class Message>
    void Put(const Message& message) {
      std::get<I>(*ports_).try_put(message);
    }

   private:
    typename Node::output_ports_type* ports_;
  };

  template <class Body>
  Stage(Graph& graph, std::string name, size_t width, Body body)
      : graph_(&graph),
        facts_(&graph.picture().Add(std::move(name), "box", width)),
        node_(graph.flow(), width == 0 ? size_t{oneapi::tbb::flow::unlimited} : width,
              [body, facts = facts_, owner = &graph](const In& in,
                                                     typename Node::output_ports_type& ports) {
                Handover::Take();  // Before anything else: the captures were written elsewhere.
                RunBody(*facts, *owner, in, [&] {
                  Outputs out(ports);
                  body(in, out);
                });
              }) {}

  void Put(const In& message) { node_.try_put(message); }

  Graph& graph() { return *graph_; }
  NodeFacts& facts() { return *facts_; }
  oneapi::tbb::flow::receiver<In>& input() { return node_; }
  template <size_t I>
  auto& output() {
    return oneapi::tbb::flow::output_port<I>(node_);
  }

 private:
  Graph* graph_;
  NodeFacts* facts_;
  Node node_;
};

// The way back into the graph for whoever finishes an async stage's work.
template <class Out>
class Reply {
 public:
  using Gateway = typename oneapi::tbb::flow::async_node<Out, Out>::gateway_type;
  explicit Reply(Gateway& gateway) : gateway_(&gateway) { gateway_->reserve_wait(); }

  // Exactly once, on any thread.
  void operator()(Out message) const {
    gateway_->try_put(message);
    message = Out();           // What it refers to is the graph's from now on,
    gateway_->release_wait();  // which may be gone behind this line.
  }

 private:
  Gateway* gateway_;
};

// A stage whose work happens elsewhere: on an I/O thread, in another arena, on a device.
// Starts are serial, in the order of the messages: TBB would run a thread's tasks last in first out, and
// of reads that are started so the one that is needed first would come last.
//   start: void(const In&, Reply<Out>) queues the work and returns at once. It never blocks and
//   never enters the kernel for I/O. Whoever finishes the work calls the reply exactly once, also
//   with an error inside the message: else the credit behind it never comes home and the graph
//   starves.
template <class In, class Out>
class AsyncStage {
 public:
  using Node = oneapi::tbb::flow::async_node<In, Out>;

  template <class Start>
  AsyncStage(Graph& graph, std::string name, Start start)
      : graph_(&graph),
        facts_(&graph.picture().Add(std::move(name), "hexagon", 1)),
        node_(graph.flow(), oneapi::tbb::flow::serial,
              [start, facts = facts_, owner = &graph](const In& in,
                                                      typename Node::gateway_type& gateway) {
                Handover::Take();
                RunBody(*facts, *owner, in, [&] { start(in, Reply<Out>(gateway)); });
              }) {}

  void Put(const In& message) { node_.try_put(message); }

  Graph& graph() { return *graph_; }
  NodeFacts& facts() { return *facts_; }
  oneapi::tbb::flow::receiver<In>& input() { return node_; }
  template <size_t I>
  auto& output() {
    return oneapi::tbb::flow::output_port<0>(node_);
  }

 private:
  static_assert(std::is_same_v<typename oneapi::tbb::flow::async_node<In, Out>::gateway_type,
                               typename Reply<Out>::Gateway>,
                "a gateway depends on the output alone");
  Graph* graph_;
  NodeFacts* facts_;
  Node node_;
};

// Bounds how many messages are between here and where their credit is given back.
//
// A limiter_node alone silently loses what it rejects when its predecessor is a function node: the
// queue in front keeps it. This pair exists only here. Whoever ends a message's use of the bounded
// resource calls Return() exactly once, failed messages included, after the resource is free again.
template <class Message>
class Credit {
 public:
  Credit(Graph& graph, std::string name, size_t credits)
      : graph_(&graph),
        facts_(&graph.picture().Add(std::move(name), "ellipse", credits)),
        queue_(graph.flow()),
        limiter_(graph.flow(), credits) {
    oneapi::tbb::flow::make_edge(queue_, limiter_);
  }

  void Put(const Message& message) { queue_.try_put(message); }

  void Return() { limiter_.decrementer().try_put(oneapi::tbb::flow::continue_msg()); }

  Graph& graph() { return *graph_; }
  NodeFacts& facts() { return *facts_; }
  oneapi::tbb::flow::receiver<Message>& input() { return queue_; }
  template <size_t I>
  oneapi::tbb::flow::sender<Message>& output() {
    return limiter_;
  }

 private:
  Graph* graph_;
  NodeFacts* facts_;
  oneapi::tbb::flow::queue_node<Message> queue_;
  oneapi::tbb::flow::limiter_node<Message> limiter_;
};

// Connects output I of `from` to `to` and draws the edge.
template <size_t I = 0, class From, class To>
void Connect(From& from, To& to, std::string label = {}) {
  oneapi::tbb::flow::make_edge(from.template output<I>(), to.input());
  from.graph().picture().Connect(from.facts(), to.facts(), std::move(label));
}

}  // namespace penstock::graph
