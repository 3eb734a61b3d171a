#include "models/k3/commands/generate/figures_record.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/measure/statistics.h"

namespace penstock::k3 {
namespace {

Json DeviceToJson(const io::DeviceStats& device, uint64_t wall_ns) {
  Json latency = Json::object();
  for (size_t i = 0; i < device.latency.size(); ++i) {
    const uint64_t reads = device.latency[i].total();
    if (reads == 0) continue;
    latency[std::string(io::ReadClassName(static_cast<io::ReadClass>(i)))] = {
        {"reads", reads},
        {"p50", device.latency[i].Percentile(0.5)},
        {"p99", device.latency[i].Percentile(0.99)}};
  }
  return {{"name", device.name},
          {"window_bytes", device.window_bytes},
          {"payload_bytes", device.payload_bytes},
          {"device_bytes", device.device_bytes},
          {"reads", device.reads},
          {"busy_ns", device.busy_ns},
          {"full_ns", device.full_ns},
          {"mean_depth_bytes", device.MeanDepthBytes(wall_ns)},
          {"latency_ns", latency}};
}

std::string DeviceLine(const io::DeviceStats& device, uint64_t wall_ns) {
  std::string line =
      fmt::format("{} in {} reads, depth {} on average, busy {:.0f} %, full {:.0f} %",
                  DescribeSize(device.device_bytes), device.reads,
                  DescribeSize(static_cast<uint64_t>(device.MeanDepthBytes(wall_ns))),
                  100 * Share(device.busy_ns, wall_ns), 100 * Share(device.full_ns, wall_ns));
  for (size_t i = 0; i < device.latency.size(); ++i) {
    if (device.latency[i].total() == 0) continue;
    line += fmt::format("; {} p50 {:.2f} p99 {:.2f} ms",
                        io::ReadClassName(static_cast<io::ReadClass>(i)),
                        static_cast<double>(device.latency[i].Percentile(0.5)) * 1e-6,
                        static_cast<double>(device.latency[i].Percentile(0.99)) * 1e-6);
  }
  return line;
}

}  // namespace

std::string FigureRow(std::string_view name, const std::string& value) {
  return fmt::format("  {:<22}{}\n", name, value);
}

Json FiguresToJson(const Figures& figures, std::string_view what) {
  Json causes = Json::object();
  for (size_t i = 0; i < kCauses; ++i) {
    causes[std::string(CauseName(static_cast<Cause>(i)))] = figures.causes[i];
  }
  Json devices = Json::array();
  for (const io::DeviceStats& device : figures.devices) {
    devices.push_back(DeviceToJson(device, figures.wall_ns));
  }
  Json nodes = Json::object();
  for (const NodeUse& node : figures.nodes) {
    if (node.messages == 0) continue;
    nodes[node.name] = {
        {"messages", node.messages}, {"busy_ns", node.busy_ns}, {"longest_ns", node.longest_ns}};
  }
  const Verdict verdict = Judge(figures, what);
  return {{"causes", causes},
          {"devices", devices},
          {"overlap", figures.overlap()},
          {"nodes", nodes},
          {"verdict",
           {{"bound", BoundName(verdict.bound)},
            {"sentence", verdict.sentence},
            {"advice", verdict.advice}}}};
}

std::string FiguresTable(const Figures& figures, std::string_view what) {
  std::string out = FigureRow("time by cause", fmt::format("{:.3f} s", figures.wall_ns * 1e-9));
  for (size_t i = 0; i < kCauses; ++i) {
    std::string name(CauseName(static_cast<Cause>(i)));
    std::replace(name.begin(), name.end(), '_', ' ');
    out += FigureRow("  " + name, fmt::format("{:.3f} s, {:.1f} %",
                                              static_cast<double>(figures.causes[i]) * 1e-9,
                                              100 * Share(figures.causes[i], figures.wall_ns)));
  }
  for (const io::DeviceStats& device : figures.devices) {
    out += FigureRow(device.name, DeviceLine(device, figures.wall_ns));
  }
  out += FigureRow("overlap", fmt::format("{:.3f} of the busier side's time", figures.overlap()));
  const Verdict verdict = Judge(figures, what);
  out += FigureRow("verdict", verdict.sentence);
  if (!verdict.advice.empty()) out += FigureRow("to change", verdict.advice);
  return out;
}

}  // namespace penstock::k3
