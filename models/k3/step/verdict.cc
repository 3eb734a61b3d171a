#include "models/k3/step/verdict.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "runtime/measure/statistics.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr double kMost = 0.9;
constexpr double kHalf = 0.5;

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string Milliseconds(uint64_t ns) {
  return fmt::format("{:.1f} ms", static_cast<double>(ns) * 1e-6);
}

std::string Rate(uint64_t bytes, uint64_t ns) {
  const double rate = ns == 0 ? 0 : static_cast<double>(bytes) * 1e9 / static_cast<double>(ns);
  return rate >= 1e9 ? fmt::format("{:.2f} GB/s", rate * 1e-9)
                     : fmt::format("{:.1f} MB/s", rate * 1e-6);
}

// The figures under judgement, and the shares that the rules ask for.
struct Case {
  const Figures& f;
  std::string what;

  double Of(Cause cause) const { return Share(f.of(cause), f.wall_ns); }
  double Busy() const { return Share(f.compute_busy_ns(), f.wall_ns); }
  double Full(const io::DeviceStats& device) const { return Share(device.full_ns, f.wall_ns); }
  double Reading(const io::DeviceStats& device) const { return Share(device.busy_ns, f.wall_ns); }

  // "bodies ran for 98 % of the step on 1.9 of 2 threads"
  std::string Bodies() const {
    return fmt::format("bodies ran for {} of the {} on {:.1f} of {} threads", Percent(Busy()), what,
                       Share(f.body_ns, f.compute_busy_ns()), f.threads);
  }
  std::string DeviceIdle() const {
    const io::DeviceStats* device = f.busiest();
    if (device == nullptr || device->reads == 0) return "nothing was read";
    return fmt::format("{} was idle for {}", device->name, Percent(1 - Reading(*device)));
  }
};

// The time that the bodies of a node took one at a time. Nothing waits for predictions.
uint64_t AloneNs(const NodeUse& node) {
  if (node.name == "predict") return 0;
  if (node.serial) return node.busy_ns;
  if (node.messages < 2) return 0;
  const uint64_t others = (node.busy_ns - node.longest_ns) / (node.messages - 1);
  return node.longest_ns >= 10 * others ? node.longest_ns : 0;
}

const NodeUse* SlowestNode(const Figures& figures) {
  const auto found =
      std::max_element(figures.nodes.begin(), figures.nodes.end(),
                       [](const auto& a, const auto& b) { return AloneNs(a) < AloneNs(b); });
  return found == figures.nodes.end() ? nullptr : &*found;
}

// Of those that do arithmetic, or of the others.
const NodeUse* BusiestNode(const Figures& figures, bool arithmetic) {
  const NodeUse* busiest = nullptr;
  for (const NodeUse& node : figures.nodes) {
    if (node.arithmetic != arithmetic) continue;
    if (busiest == nullptr || node.busy_ns > busiest->busy_ns) busiest = &node;
  }
  return busiest;
}

Verdict OfNode(const Case& c, const NodeUse& node) {
  return {Bound::kNode,
          fmt::format("latency in node {}: its bodies, one at a time, took {} of the {} ({} in {} "
                      "messages, the longest {})",
                      node.name, Percent(Share(AloneNs(node), c.f.wall_ns)), c.what,
                      Milliseconds(node.busy_ns), node.messages, Milliseconds(node.longest_ns)),
          fmt::format("make \"{}\" faster; --trace shows each of its messages", node.name)};
}

Verdict OfFullDevice(const Case& c, const io::DeviceStats& device) {
  return {Bound::kDevice,
          fmt::format(
              "device-bound: the queue of {} held all that W = {} allows for {} of the {}; it gave "
              "{}, while {}",
              device.name, DescribeSize(device.window_bytes), Percent(c.Full(device)), c.what,
              Rate(device.device_bytes, c.f.wall_ns), c.Bodies()),
          "fewer bytes: a pack of the trunk (--pack), more of it pinned (--memory), a larger "
          "--expert-cache; or a faster device"};
}

Verdict OfBusyDevice(const Case& c, const io::DeviceStats& device) {
  return {
      Bound::kDevice,
      fmt::format(
          "device-bound: {} had reads in flight for {} of the {}, all that W = {} allows for {}; "
          "it gave {}, while {}",
          device.name, Percent(c.Reading(device)), c.what, DescribeSize(device.window_bytes),
          Percent(c.Full(device)), Rate(device.device_bytes, c.f.wall_ns), c.Bodies()),
      "a deeper read-ahead (--ring, --depth) if the device can do more; else fewer bytes "
      "(--pack, --memory)"};
}

Verdict OfCompute(const Case& c) {
  const NodeUse* node = BusiestNode(c.f, true);
  std::string most;
  if (node != nullptr && c.f.body_ns != 0) {
    most = fmt::format("; most of it in {}, {}", node->name,
                       Percent(std::min(1.0, Share(node->busy_ns, c.f.body_ns))));
  }
  return {Bound::kCompute, fmt::format("compute-bound: {}, {}{}", c.Bodies(), c.DeviceIdle(), most),
          "more cores (-t, --cpus-compute); memory for pins would not help, reading is not what "
          "takes the time"};
}

Verdict OfDecode(const Case& c) {
  return {Bound::kDecode,
          fmt::format("decode-bound: decoding took {} of the {} and other arithmetic {}, {}",
                      Percent(c.Of(Cause::kDecode)), c.what, Percent(c.Of(Cause::kCompute)),
                      c.DeviceIdle()),
          "more cores (-t, --cpus-decode), --pin-format raw, or no pack where the device is fast"};
}

bool IsDelayed(const Figures& figures) {
  const uint64_t waited = figures.of(Cause::kDevice) + figures.of(Cause::kExpertWait);
  return 2 * waited >= figures.wall_ns && 2 * figures.slowest_ns >= waited &&
         figures.slowest.usual_ns > 0 && figures.slowest.ns >= 4 * figures.slowest.usual_ns;
}

Verdict OfDelay(const Case& c) {
  const SlowRead& slow = c.f.slowest;
  const std::string device =
      slow.device < c.f.devices.size() ? c.f.devices[slow.device].name : "the device";
  const std::string layer =
      slow.tag == io::kNoTag ? std::string() : fmt::format(" of layer {}", slow.tag);
  return {Bound::kDeviceDelay,
          fmt::format("latency of {}: a {} read{} took {} from submission to completion (half of "
                      "them at most {}); waits for reads took {} of the {}",
                      device, io::ReadClassName(slow.read_class), layer, Milliseconds(slow.ns),
                      Milliseconds(slow.usual_ns),
                      Percent(c.Of(Cause::kDevice) + c.Of(Cause::kExpertWait)), c.what),
          "look at the device (other users of it, its temperature, --fault of this run); a larger "
          "--ring hides single slow reads"};
}

Verdict OfReadAhead(const Case& c) {
  const io::DeviceStats* device = c.f.busiest();
  const std::string held =
      device == nullptr
          ? std::string("its queue is not known")
          : fmt::format("the queue of {} held all that W = {} allows for {} only", device->name,
                        DescribeSize(device->window_bytes), Percent(c.Full(*device)));
  return {
      Bound::kReadAhead,
      fmt::format("waiting for the device: nothing ran for {} of the {} while reads were in "
                  "flight, but {}; the read-ahead was stopped {} times by --ring, {} by --depth",
                  Percent(c.Of(Cause::kDevice)), c.what, held, c.f.ring_stops, c.f.depth_stops),
      "more reads in flight: a larger --ring, --depth or --memory"};
}

Verdict OfRing(const Case& c) {
  return {Bound::kRing,
          fmt::format("ring too small: the read-ahead was stopped by --ring {} times, and nothing "
                      "ran for {} of the {} while no read was in flight",
                      c.f.ring_stops, Percent(c.Of(Cause::kRingFull)), c.what),
          "raise --ring or --memory, or make --extent smaller"};
}

Verdict OfDepth(const Case& c) {
  return {
      Bound::kDepth,
      fmt::format("read-ahead too short: it was stopped by --depth {} times, and nothing ran for "
                  "{} of the {} while no read was in flight",
                  c.f.depth_stops, Percent(c.Of(Cause::kRingEmpty)), c.what),
      "raise --depth"};
}

Verdict OfExperts(const Case& c) {
  std::string latency;
  if (const io::DeviceStats* device = c.f.busiest()) {
    const auto& demanded = device->latency[static_cast<size_t>(io::ReadClass::kDemanded)];
    latency = fmt::format("; a demanded read took {} (half of them), {} (99 %)",
                          Milliseconds(demanded.Percentile(0.5)),
                          Milliseconds(demanded.Percentile(0.99)));
  }
  return {
      Bound::kExperts,
      fmt::format("expert wait: nothing ran for {} of the {} until routed experts came; {} of {} "
                  "were in the cache{}",
                  Percent(c.Of(Cause::kExpertWait)), c.what, c.f.expert_hits,
                  c.f.expert_hits + c.f.expert_misses, latency),
      "a larger --expert-cache (--memory), or a smaller --bs if the trunk's reads stand in front"};
}

Verdict OfSubmit(const Case& c) {
  return {
      Bound::kSubmit,
      fmt::format("submission: nothing ran for {} of the {} while reads were asked for and none "
                  "had gone to a device",
                  Percent(c.Of(Cause::kSubmit)), c.what),
      "a CPU of its own for the I/O thread (--cpus-io), fewer compute threads, a larger --bs"};
}

Verdict OfGraph(const Case& c) {
  const NodeUse* node = BusiestNode(c.f, false);
  const std::string most =
      node == nullptr ? std::string()
                      : fmt::format("; the busiest node is {}, {} in {} messages", node->name,
                                    Milliseconds(node->busy_ns), node->messages);
  return {
      Bound::kGraph,
      fmt::format("graph: no arithmetic ran for {} of the {} though none of it waited for weights: "
                  "messages were handed over{}",
                  Percent(c.Of(Cause::kGraph) + c.Of(Cause::kOther)), c.what, most),
      "fewer and longer messages (a larger --extent), no more threads than CPUs"};
}

// Where neither side is busy all the time, what was waited for is what can be gained: unless it is
// little, the largest part of it is named, else the larger part of the work.
Verdict OfLargestCause(const Case& c) {
  const uint64_t all = std::accumulate(c.f.causes.begin(), c.f.causes.end(), uint64_t{0});
  const bool worked = all - std::min(all, c.f.compute_busy_ns()) <= all / 4;
  Cause largest = worked ? Cause::kCompute : Cause::kDevice;
  for (size_t i = 0; i < c.f.causes.size(); ++i) {
    const auto cause = static_cast<Cause>(i);
    const bool works = cause == Cause::kCompute || cause == Cause::kDecode;
    if (works == worked && c.f.of(cause) > c.f.of(largest)) largest = cause;
  }
  switch (largest) {
    case Cause::kDevice:
      return OfReadAhead(c);
    case Cause::kSubmit:
      return OfSubmit(c);
    case Cause::kDecode:
      return OfDecode(c);
    case Cause::kCompute:
      return OfCompute(c);
    case Cause::kRingFull:
      return OfRing(c);
    case Cause::kRingEmpty:
      return OfDepth(c);
    case Cause::kExpertWait:
      return OfExperts(c);
    case Cause::kGraph:
    case Cause::kOther:
      return OfGraph(c);
  }
  return {};
}

}  // namespace

std::string_view BoundName(Bound bound) {
  constexpr std::string_view kNames[] = {"nothing", "device", "compute",    "decode",
                                         "node",    "delay",  "read_ahead", "submit",
                                         "ring",    "depth",  "experts",    "graph"};
  return kNames[static_cast<size_t>(bound)];
}

Verdict Judge(const Figures& figures, std::string_view what) {
  if (figures.wall_ns == 0) return {Bound::kNothing, "no step was run", ""};
  const Case c{figures, std::string(what)};
  const io::DeviceStats* device = figures.busiest();
  const io::DeviceStats* fullest = figures.fullest();
  const double full = fullest == nullptr ? 0 : c.Full(*fullest);
  const NodeUse* node = SlowestNode(figures);
  const double alone = node == nullptr ? 0 : Share(AloneNs(*node), figures.wall_ns);
  if (alone >= kHalf && alone > full) return OfNode(c, *node);
  if (full >= kMost) return OfFullDevice(c, *fullest);
  if (c.Busy() >= kMost) {
    return c.Of(Cause::kDecode) > c.Of(Cause::kCompute) ? OfDecode(c) : OfCompute(c);
  }
  if (IsDelayed(figures)) return OfDelay(c);
  if (device != nullptr && c.Reading(*device) >= kMost) return OfBusyDevice(c, *device);
  return OfLargestCause(c);
}

}  // namespace penstock::k3
