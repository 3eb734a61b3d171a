#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace penstock {

// Records what ran when, on lanes, and how quantities changed, and writes both as a trace that
// Perfetto and chrome://tracing show (Trace Event Format, JSON).
//
// Each thread writes into a buffer of its own: recording takes no lock and allocates nothing. What
// finds no place is dropped and counted.
// Threads: names, lanes and counters are added before the first event; Span and Count from any;
// Write when it may miss what is recorded meanwhile.
class Trace {
 public:
  using Id = uint32_t;
  static constexpr uint32_t kNoValue = ~uint32_t{0};
  static constexpr size_t kArguments = 3;
  using Arguments = std::array<uint32_t, kArguments>;  // kNoValue: not shown.
  static constexpr Arguments kNoArguments = {kNoValue, kNoValue, kNoValue};

  // Buffers for so many threads, each of so many events (40 bytes). `origin_ns` of NowNs is the
  // trace's time 0.
  Trace(size_t threads, size_t events, uint64_t origin_ns);

  // What runs. `labels` name the arguments.
  Id AddName(std::string name, std::array<std::string, kArguments> labels = {});
  // A row of the picture, in order of adding. Where spans may overlap the writer spreads them over
  // as many rows as it takes.
  Id AddLane(std::string name, bool overlaps = false);
  // A quantity in `unit`.
  Id AddCounter(std::string name, std::string unit);

  void Span(Id lane, Id name, uint64_t start_ns, uint64_t end_ns,
            const Arguments& arguments = kNoArguments);
  void Count(Id counter, uint64_t now_ns, uint64_t value);

  size_t size() const;                                                           // Events recorded,
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }  // and not.

  // One JSON object, in pieces of some 64 KiB; ends with the sink's first failure.
  using Sink = std::function<Status(std::string_view)>;
  Status Write(const Sink& sink) const;

 private:
  struct Event {
    uint64_t start_ns;
    uint64_t end_ns;  // Of a counter: its value.
    Id lane;          // kCounterLane: a counter.
    Id name;
    Arguments arguments;
  };
  struct Buffer {
    std::unique_ptr<Event[]> events;
    std::atomic<size_t> used{0};
  };
  struct Name {
    std::string text;
    std::array<std::string, kArguments> labels;
  };
  struct Lane {
    std::string text;
    bool overlaps = false;
  };
  static constexpr Id kCounterLane = ~Id{0};

  Buffer* Mine();
  void Record(const Event& event);
  std::vector<Event> Sorted() const;
  std::string Text(const Event& event, size_t row) const;
  std::string LaneText(size_t row, const std::string& name) const;

  const uint64_t number_;  // Of all traces of the process.
  const uint64_t origin_ns_;
  const size_t capacity_;
  std::vector<Name> names_;
  std::vector<Lane> lanes_;
  std::vector<Name> counters_;  // The unit is the first label.
  std::vector<Buffer> buffers_;
  std::atomic<size_t> claimed_{0};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace penstock
