#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace penstock::graph {

// What a node tells of itself: its name and width from the constructor, its counters from running.
struct NodeFacts {
  std::string name;
  std::string
      shape;  // Graphviz shape: box for work, hexagon for an async stage, ellipse for credits.
  size_t index = 0;         // Among the nodes, in order of adding.
  size_t width = 0;         // Bodies at a time; 0 = as many as the arena has threads.
  bool arithmetic = false;  // Its bodies compute; the others keep books. Set by who makes the node.
  std::atomic<uint64_t> messages{0};
  std::atomic<uint64_t> busy_ns{0};     // In bodies; for an async stage, in starting its work.
  std::atomic<uint64_t> longest_ns{0};  // Of one body; whoever takes it begins again with 0.

  void Count(uint64_t ns) {
    messages.fetch_add(1, std::memory_order_relaxed);
    busy_ns.fetch_add(ns, std::memory_order_relaxed);
    uint64_t longest = longest_ns.load(std::memory_order_relaxed);
    while (ns > longest && !longest_ns.compare_exchange_weak(longest, ns)) {
    }
  }
};

// The nodes and edges of a graph as they were made, for DOT. Not synchronised while it is built.
class Picture {
 public:
  NodeFacts& Add(std::string name, std::string shape, size_t width);
  void Connect(const NodeFacts& from, const NodeFacts& to, std::string label);

  // Graphviz text; with `times` each node also shows its messages and the time spent in it.
  std::string Dot(bool times) const;

  const std::deque<NodeFacts>& nodes() const { return nodes_; }
  std::deque<NodeFacts>& nodes() { return nodes_; }

 private:
  struct Edge {
    const NodeFacts* from;
    const NodeFacts* to;
    std::string label;
  };
  std::deque<NodeFacts> nodes_;  // A deque: references stay valid.
  std::vector<Edge> edges_;
};

}  // namespace penstock::graph
