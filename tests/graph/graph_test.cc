#include "graph/graph.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

namespace penstock::graph {
namespace {

// The smallest real pipeline: numbers are squared on another thread, at most `credits` of them at a
// time, and summed in a serial stage. A message that failed travels the same edges.
struct Number {
  int value = 0;
  bool failed = false;
};

class Toy {
 public:
  Toy(Arena& arena, size_t credits, size_t messages, int bad = -1, int throws = -1)
      : messages_(messages),
        graph_(arena),
        credits_(graph_, "credits", credits),
        square_(graph_, "square",
                [this, bad](const Number& in, Reply<Number> reply) {
                  const int now = ++in_flight_;
                  int most = most_in_flight_.load();
                  while (now > most && !most_in_flight_.compare_exchange_weak(most, now)) {
                  }
                  const std::lock_guard lock(mutex_);
                  workers_.emplace_back([this, in, bad, reply] {
                    Number out{in.value * in.value, in.value == bad};
                    if (out.failed)
                      graph_.outcome().Fail(Failed("number " + std::to_string(in.value)));
                    --in_flight_;
                    reply(out);
                  });
                }),
        sum_(graph_, "sum", 1, [this, throws](const Number& in, auto&) {
          credits_.Return();
          ++arrived_;
          if (throws >= 0 && in.value == throws * throws) throw std::runtime_error("stray");
          if (!in.failed) total_ += in.value;
          if (arrived_ == messages_) graph_.outcome().Finish();
        }) {
    Connect(credits_, square_);
    Connect(square_, sum_);
  }
  ~Toy() {
    graph_.WaitIdle();
    for (auto& worker : workers_) worker.join();
  }

  Status Run() {
    graph_.outcome().Begin();
    for (size_t i = 0; i < messages_; ++i) {
      credits_.Put(Number{static_cast<int>(i), false});
    }
    Status status = graph_.outcome().Wait();
    graph_.WaitIdle();
    return status;
  }

  const size_t messages_;
  std::atomic<int> in_flight_{0};
  std::atomic<int> most_in_flight_{0};
  size_t arrived_ = 0;
  long total_ = 0;
  std::mutex mutex_;
  std::vector<std::thread> workers_;
  Graph graph_;
  Credit<Number> credits_;
  AsyncStage<Number, Number> square_;
  Stage<Number> sum_;
};

TEST(Graph, CreditsBoundWhatIsInFlightAndLoseNothing) {
  Arena arena(2, {});
  for (const size_t credits : {1, 3, 64}) {
    Toy toy(arena, credits, 200);
    const Status status = toy.Run();
    ASSERT_TRUE(status.has_value()) << status.error().message;
    EXPECT_EQ(toy.arrived_, 200u);
    EXPECT_EQ(toy.total_, 199L * 200 * 399 / 6);
    EXPECT_LE(toy.most_in_flight_.load(), static_cast<int>(credits));
  }
}

TEST(FaultGraph, AFailedMessageBringsItsCreditHome) {
  Arena arena(2, {});
  for (int bad = 0; bad < 20; bad += 7) {
    Toy toy(arena, 1, 20, bad);
    const Status status = toy.Run();
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().message, "number " + std::to_string(bad));
    EXPECT_EQ(toy.arrived_, 20u) << "with one credit, a lost one would stop the rest";
  }
}

TEST(FaultGraph, AStrayExceptionBecomesTheRunsErrorAndTheGraphGoesOn) {
  Arena arena(2, {});
  Toy toy(arena, 2, 20, -1, 5);
  const Status status = toy.Run();
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("sum"), std::string::npos);
  EXPECT_NE(status.error().message.find("stray"), std::string::npos);
  EXPECT_EQ(toy.arrived_, 20u);
}

TEST(Graph, OneThreadIsEnough) {
  Arena arena(1, {});
  Toy toy(arena, 2, 50);
  EXPECT_TRUE(toy.Run().has_value());
  EXPECT_EQ(toy.arrived_, 50u);
  EXPECT_EQ(arena.workers_seen(), 1u);
}

TEST(Graph, EveryThreadOfTheArenaWorks) {
  Arena arena(2, {});
  Graph graph(arena);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  std::atomic<int> left{2};
  Stage<int> both(graph, "both", 0, [&](int, auto&) {
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    ++inside;
    // Until two bodies are in at once: only possible with two workers.
    while (inside.load() < 2 && !met.load()) std::this_thread::yield();
    met = true;
    if (--left == 0) graph.outcome().Finish();
  });
  graph.outcome().Begin();
  both.Put(1);
  both.Put(2);
  // Blocked, not WaitIdle: that one would lend the caller to the arena.
  ASSERT_TRUE(graph.outcome().Wait().has_value());
  graph.WaitIdle();
  EXPECT_EQ(threads.size(), 2u);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

Subject SubjectOf(const Number& number) { return {.part = static_cast<uint32_t>(number.value)}; }

struct Watcher : Observer {
  void Begins(const NodeFacts& node, Subject* subject) override {
    const std::lock_guard lock(mutex);
    ++begun;
    subject->item = static_cast<uint32_t>(node.index);
  }
  void Ended(const NodeFacts& node, const Subject& subject, uint64_t start_ns,
             uint64_t end_ns) override {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(subject.item, node.index);
    EXPECT_LE(start_ns, end_ns);
    seen[node.name].insert(subject.part);
  }
  std::mutex mutex;
  size_t begun = 0;
  std::map<std::string, std::set<uint32_t>> seen;
};

TEST(Graph, AnObserverIsToldOfEveryBodyAndItsMessage) {
  Arena arena(2, {});
  Watcher watcher;
  Toy toy(arena, 4, 20);
  toy.graph_.Observe(&watcher);
  ASSERT_TRUE(toy.Run().has_value());
  EXPECT_EQ(watcher.begun, 40u);
  ASSERT_EQ(watcher.seen.size(), 2u);
  EXPECT_EQ(watcher.seen["square"].size(), 20u);
  EXPECT_EQ(watcher.seen["sum"].size(), 20u);
  EXPECT_TRUE(watcher.seen["square"].contains(19));
  EXPECT_TRUE(watcher.seen["sum"].contains(19 * 19));
}

TEST(NodeFacts, CountsAndKeepsTheLongest) {
  NodeFacts node;
  for (const uint64_t ns : {3, 9, 4}) node.Count(ns);
  EXPECT_EQ(node.messages.load(), 3u);
  EXPECT_EQ(node.busy_ns.load(), 16u);
  EXPECT_EQ(node.longest_ns.load(), 9u);
}

TEST(Outcome, TheFirstToEndWins) {
  Outcome outcome;
  outcome.Begin();
  EXPECT_FALSE(outcome.over());
  outcome.Fail(Failed("first"));
  outcome.Fail(Failed("second"));
  outcome.Finish();
  EXPECT_TRUE(outcome.over());
  const Status status = outcome.Wait();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "first");

  outcome.Begin();
  outcome.Finish();
  outcome.Fail(Failed("too late"));
  EXPECT_TRUE(outcome.Wait().has_value());
}

TEST(Outcome, WaitReturnsAfterEveryClaimHasGone) {
  Outcome outcome;
  for (int run = 0; run < 200; ++run) {
    outcome.Begin();
    int changed = 0;  // No atomic: what is done under a claim happens before.
    std::vector<std::thread> bodies;
    for (int body = 0; body < 2; ++body) {
      bodies.emplace_back([&outcome, &changed, body] {
        const Outcome::Claim claim(outcome);
        if (!claim) return;
        if (body == 0) outcome.Fail(Failed("early"));
        if (body == 0) changed = 1;
      });
    }
    EXPECT_FALSE(outcome.Wait().has_value());
    EXPECT_EQ(changed, 1);
    const Outcome::Claim late(outcome);
    EXPECT_FALSE(static_cast<bool>(late));
    for (std::thread& body : bodies) body.join();
  }
}

TEST(Picture, ShowsEveryNodeAndEdgeOfTheLiveGraph) {
  Arena arena(1, {});
  Toy toy(arena, 2, 3);
  ASSERT_TRUE(toy.Run().has_value());
  const std::string dot = toy.graph_.picture().Dot(true);
  for (const char* wanted :
       {"\"credits\" [shape=ellipse", "\"square\" [shape=hexagon", "\"sum\" [shape=box",
        "\"credits\" -> \"square\"", "\"square\" -> \"sum\""}) {
    EXPECT_NE(dot.find(wanted), std::string::npos) << wanted << " in\n" << dot;
  }
  for (const NodeFacts& node : toy.graph_.picture().nodes()) {
    EXPECT_EQ(node.messages.load(), node.name == "credits" ? 0u : 3u) << node.name;
  }
}

TEST(Arena, PinsItsWorkersToTheMaskAndLeavesTheCallerAlone) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  Arena arena(1, {cpu});
  Graph graph(arena);
  cpu_set_t inside;
  CPU_ZERO(&inside);
  Stage<int> look(graph, "look", 1, [&](int, auto&) {
    sched_getaffinity(0, sizeof(inside), &inside);
    graph.outcome().Finish();
  });
  graph.outcome().Begin();
  look.Put(1);
  ASSERT_TRUE(graph.outcome().Wait().has_value());
  graph.WaitIdle();
  EXPECT_EQ(CPU_COUNT(&inside), 1);
  EXPECT_TRUE(CPU_ISSET(cpu, &inside));
  cpu_set_t after;
  sched_getaffinity(0, sizeof(after), &after);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// What is admitted first is started first, with as many workers as may take the starts.
TEST(AsyncStage, StartsInTheOrderOfTheMessages) {
  constexpr int kMessages = 500;
  Arena arena(2, {});
  Graph graph(arena);
  std::vector<int> started;
  Stage<Number, Number> burst(graph, "burst", 1, [](const Number&, auto& out) {
    for (int i = 0; i < kMessages; ++i) out.template Put<0>(Number{i, false});
  });
  AsyncStage<Number, Number> start(graph, "start", [&](const Number& in, Reply<Number> reply) {
    started.push_back(in.value);
    reply(in);
  });
  Connect(burst, start);
  burst.Put({});
  graph.WaitIdle();
  ASSERT_EQ(started.size(), size_t{kMessages});
  EXPECT_TRUE(std::is_sorted(started.begin(), started.end()));
}

}  // namespace
}  // namespace penstock::graph
