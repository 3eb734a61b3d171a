#include "graph/picture.h"

#include <fmt/format.h>

namespace penstock::graph {

NodeFacts& Picture::Add(std::string name, std::string shape, size_t width) {
  NodeFacts& node = nodes_.emplace_back();
  node.index = nodes_.size() - 1;
  node.name = std::move(name);
  node.shape = std::move(shape);
  node.width = width;
  return node;
}

void Picture::Connect(const NodeFacts& from, const NodeFacts& to, std::string label) {
  edges_.push_back({&from, &to, std::move(label)});
}

std::string Picture::Dot(bool times) const {
  std::string out = "digraph penstock {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
  for (const NodeFacts& node : nodes_) {
    std::string label = node.name;
    if (node.width != 0) label += fmt::format("\\nwidth {}", node.width);
    if (times && node.shape != "ellipse")
      label += fmt::format("\\n{} messages", node.messages.load());
    if (times && node.shape == "box") {
      label += fmt::format(", {:.1f} ms", static_cast<double>(node.busy_ns.load()) * 1e-6);
    }
    out += fmt::format("  \"{}\" [shape={}, label=\"{}\"];\n", node.name, node.shape, label);
  }
  for (const Edge& edge : edges_) {
    out += fmt::format("  \"{}\" -> \"{}\" [label=\"{}\"];\n", edge.from->name, edge.to->name,
                       edge.label);
  }
  return out + "}\n";
}

}  // namespace penstock::graph
