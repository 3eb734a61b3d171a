#include "models/k3/step/step_trace.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include "models/k3/step/step_meter.h"
#include "runtime/measure/clock.h"

namespace penstock::k3 {
namespace {

constexpr size_t kEvents = size_t{1} << 18;  // A thread; memory only where they are written.
constexpr size_t kOtherThreads = 80;         // Of the reader, and the one that waits for steps.
constexpr uint64_t kMillisecond = 1'000'000;

// A whole number and nothing behind it.
bool ParseNumber(std::string_view text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

uint32_t ValueOf(uint32_t subject) {
  return subject == graph::kNoSubject ? Trace::kNoValue : subject;
}

}  // namespace

Result<TraceSteps> ParseTraceSteps(std::string_view text, uint64_t steps) {
  TraceSteps range;
  if (text.empty()) {
    const uint64_t last = std::max<uint64_t>(steps, 1) - 1;
    range.last = std::min(range.last, last);
    range.first = range.last < 2 ? 0 : 2;
    return range;
  }
  const size_t dash = text.find('-');
  const bool parsed = ParseNumber(text.substr(0, dash), &range.first) &&
                      (dash == text.npos || ParseNumber(text.substr(dash + 1), &range.last));
  if (!parsed) {
    return Refused(fmt::format("--trace-steps {}: expected steps as \"3\" or \"3-5\"", text));
  }
  if (dash == text.npos) range.last = range.first;
  if (range.last < range.first) {
    return Refused(fmt::format("--trace-steps {}: the last step comes before the first", text));
  }
  if (range.first >= steps) {
    return Refused(
        fmt::format("--trace-steps {}: the run has at most {} steps, counted from 0", text, steps));
  }
  return range;
}

StepTrace::StepTrace(const TracedEngine& engine, TraceSteps steps)
    : pass_(engine.pass),
      ring_(engine.ring),
      steps_(steps),
      trace_(engine.threads + engine.decode_threads + kOtherThreads, kEvents, NowNs(Clock::kWall)) {
  const std::array<std::string, 3> labels = {"layer", "extent", "expert"};
  step_lane_ = trace_.AddLane("steps");
  step_name_ = trace_.AddName("step", {"n"});
  for (const graph::NodeFacts& node : engine.picture.nodes()) {
    names_.push_back(trace_.AddName(node.name, labels));
    counts_ring_.push_back(node.name == "admit" || node.name == "meet");
  }
  for (size_t i = 0; i < engine.threads; ++i) {
    compute_.push_back(trace_.AddLane(fmt::format("compute {}", i)));
  }
  decode_name_ = trace_.AddName("decode stripe", labels);
  for (size_t i = 0; i < engine.decode_threads; ++i) {
    decode_.push_back(trace_.AddLane(fmt::format("decode {}", i)));
  }
  for (size_t i = 0; i < read_names_.size(); ++i) {
    read_names_[i] =
        trace_.AddName(fmt::format("{} read", io::ReadClassName(static_cast<io::ReadClass>(i))),
                       {"layer", "KiB", "queued us"});
  }
  for (const std::string& name : engine.devices) {
    devices_.push_back({.lane = trace_.AddLane(name, true),
                        .in_flight = trace_.AddCounter(name + " in flight", "bytes"),
                        .bandwidth = trace_.AddCounter(name + " bandwidth", "bytes/ms")});
  }
  ring_counter_ = trace_.AddCounter("ring in use", "bytes");
}

void StepTrace::StepBegins(uint64_t n) {
  step_begin_ns_ = NowNs(Clock::kWall);
  if (n == steps_.first) begin_ns_.store(step_begin_ns_, std::memory_order_release);
}

void StepTrace::StepEnded(const StepStats& stats) {
  if (!steps_.Has(stats.n)) return;
  const uint64_t now = NowNs(Clock::kWall);
  trace_.Span(step_lane_, step_name_, step_begin_ns_, now,
              {static_cast<uint32_t>(stats.n), Trace::kNoValue, Trace::kNoValue});
  if (stats.n == steps_.last) end_ns_.store(now, std::memory_order_release);
}

uint32_t StepTrace::LayerOf(uint32_t extent) const {
  return static_cast<uint32_t>(pass_.ProductOf(pass_.extents()[extent]).layer);
}

void StepTrace::Ended(const graph::NodeFacts& node, const graph::Subject& subject,
                      uint64_t start_ns, uint64_t end_ns) {
  if (start_ns < begin_ns_.load(std::memory_order_acquire) || !Has(start_ns, end_ns)) return;
  const int slot = oneapi::tbb::this_task_arena::current_thread_index();
  if (slot < 0 || static_cast<size_t>(slot) >= compute_.size()) return;
  uint32_t layer = ValueOf(subject.group);
  if (layer == Trace::kNoValue && subject.part != graph::kNoSubject) layer = LayerOf(subject.part);
  trace_.Span(compute_[static_cast<size_t>(slot)], names_[node.index], start_ns, end_ns,
              {layer, ValueOf(subject.part), ValueOf(subject.item)});
  if (counts_ring_[node.index]) trace_.Count(ring_counter_, end_ns, ring_.used());
}

void StepTrace::Decoded(uint32_t extent, uint64_t start_ns, uint64_t end_ns) {
  if (!Has(start_ns, end_ns)) return;
  const int slot = oneapi::tbb::this_task_arena::current_thread_index();
  if (slot < 0 || static_cast<size_t>(slot) >= decode_.size()) return;
  trace_.Span(decode_[static_cast<size_t>(slot)], decode_name_, start_ns, end_ns,
              {LayerOf(extent), extent, Trace::kNoValue});
}

void StepTrace::Read(const io::ReadSpan& read) {
  if (!Has(read.submitted_ns, read.completed_ns) || read.device >= devices_.size()) return;
  Device& device = devices_[read.device];
  trace_.Span(
      device.lane, read_names_[static_cast<size_t>(read.read_class)], read.submitted_ns,
      read.completed_ns,
      {read.tag == io::kNoTag ? Trace::kNoValue : read.tag, static_cast<uint32_t>(read.bytes >> 10),
       static_cast<uint32_t>((read.submitted_ns - read.queued_ns) / 1000)});
  trace_.Count(device.in_flight, read.completed_ns, read.in_flight_bytes);
  CountBandwidth(device, read);
}

// What completed in a millisecond is known when the first read of a later one has.
void StepTrace::CountBandwidth(Device& device, const io::ReadSpan& read) {
  const uint64_t millisecond = read.completed_ns / kMillisecond;
  if (millisecond != device.millisecond) {
    if (device.millisecond != 0) {
      trace_.Count(device.bandwidth, device.millisecond * kMillisecond, device.bytes);
      if (millisecond > device.millisecond + 1) {
        trace_.Count(device.bandwidth, (device.millisecond + 1) * kMillisecond, 0);
      }
    }
    device.millisecond = millisecond;
    device.bytes = 0;
  }
  device.bytes += read.bytes;
}

}  // namespace penstock::k3
