#include "models/k3/experts/prediction_stats.h"

#include <fmt/format.h>

#include "runtime/size.h"

namespace penstock::k3 {
namespace {

std::string Recalled(const std::optional<double>& recall) {
  return recall ? fmt::format("{:.3f}", *recall) : "-";
}

std::string Row(const std::string& name, const std::string& recalls, const Ahead& ahead) {
  return fmt::format("  {:<8}{}{:>8}{:>8}{:>8}{:>8}{:>8}{:>12}{:>12}\n", name, recalls,
                     ahead.issued, ahead.useful, ahead.joined, ahead.dropped, ahead.wasted,
                     DescribeSize(ahead.useful_bytes), DescribeSize(ahead.wasted_bytes));
}

}  // namespace

std::string PredictionTable(std::span<const LayerPrediction> layers) {
  Ahead sum;
  bool seen = false;
  for (const LayerPrediction& layer : layers) {
    sum.Add(layer.ahead);
    seen = seen || layer.next_recall || layer.previous_recall;
  }
  if (!seen && sum.issued == 0) return "  no expert was predicted\n";
  std::string out = fmt::format("  {:<8}{:>8}{:>10}  {:<10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>12}{:>12}\n",
                                "experts", "next", "previous", "from", "issued", "useful", "joined",
                                "dropped", "wasted", "useful", "wasted");
  for (const LayerPrediction& layer : layers) {
    out += Row(fmt::format("layer {}", layer.layer),
               fmt::format("{:>8}{:>10}  {:<10}", Recalled(layer.next_recall),
                           Recalled(layer.previous_recall), layer.source),
               layer.ahead);
  }
  return out + Row("all", fmt::format("{:>18}  {:<10}", "", ""), sum);
}

}  // namespace penstock::k3
