#include "runtime/trace/trace.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/options/options.h"

namespace penstock {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Microseconds, the unit of the format.
std::string Micros(uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// The rows over which a lane's spans are spread: each takes the first one that is free.
class Rows {
 public:
  size_t Place(uint64_t start_ns, uint64_t end_ns) {
    for (size_t i = 0; i < free_from_.size(); ++i) {
      if (free_from_[i] > start_ns) continue;
      free_from_[i] = end_ns;
      return i;
    }
    free_from_.push_back(end_ns);
    return free_from_.size() - 1;
  }

 private:
  std::vector<uint64_t> free_from_;
};

}  // namespace

Trace::Trace(size_t threads, size_t events, uint64_t origin_ns)
    : number_(NextNumber()), origin_ns_(origin_ns), capacity_(events), buffers_(threads) {
  for (Buffer& buffer : buffers_) buffer.events = std::make_unique_for_overwrite<Event[]>(events);
}

Trace::Id Trace::AddName(std::string name, std::array<std::string, kArguments> labels) {
  names_.push_back({std::move(name), std::move(labels)});
  return static_cast<Id>(names_.size() - 1);
}

Trace::Id Trace::AddLane(std::string name, bool overlaps) {
  lanes_.push_back({std::move(name), overlaps});
  return static_cast<Id>(lanes_.size() - 1);
}

Trace::Id Trace::AddCounter(std::string name, std::string unit) {
  counters_.push_back({std::move(name), {std::move(unit)}});
  return static_cast<Id>(counters_.size() - 1);
}

void Trace::Span(Id lane, Id name, uint64_t start_ns, uint64_t end_ns, const Arguments& arguments) {
  Record({start_ns, end_ns, lane, name, arguments});
}

void Trace::Count(Id counter, uint64_t now_ns, uint64_t value) {
  Record({now_ns, value, kCounterLane, counter, kNoArguments});
}

// A thread keeps the buffer that it took first; null when there was none left.
Trace::Buffer* Trace::Mine() {
  struct Claim {
    uint64_t trace = 0;
    Buffer* buffer = nullptr;
  };
  thread_local Claim claim;
  if (claim.trace == number_) return claim.buffer;
  const size_t index = claimed_.fetch_add(1, std::memory_order_relaxed);
  claim = {number_, index < buffers_.size() ? &buffers_[index] : nullptr};
  return claim.buffer;
}

void Trace::Record(const Event& event) {
  Buffer* const buffer = Mine();
  const size_t used = buffer == nullptr ? capacity_ : buffer->used.load(std::memory_order_relaxed);
  if (used == capacity_) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  buffer->events[used] = event;
  buffer->used.store(used + 1, std::memory_order_release);
}

size_t Trace::size() const {
  size_t size = 0;
  for (const Buffer& buffer : buffers_) size += buffer.used.load(std::memory_order_acquire);
  return size;
}

std::vector<Trace::Event> Trace::Sorted() const {
  std::vector<Event> events;
  for (const Buffer& buffer : buffers_) {
    const size_t used = buffer.used.load(std::memory_order_acquire);
    events.insert(events.end(), buffer.events.get(), buffer.events.get() + used);
  }
  // Of spans that begin together the longest comes first: it holds the others.
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  return events;
}

std::string Trace::Text(const Event& event, size_t row) const {
  // What began before the trace did is shown from its begin on.
  const uint64_t start = std::max(event.start_ns, origin_ns_) - origin_ns_;
  if (event.lane == kCounterLane) {
    const Name& counter = counters_[event.name];
    return fmt::format(R"({{"ph":"C","pid":1,"ts":{},"name":{},"args":{{{}:{}}}}})", Micros(start),
                       Quoted(counter.text), Quoted(counter.labels[0]), event.end_ns);
  }
  const uint64_t end = std::max(event.end_ns, origin_ns_) - origin_ns_;
  const Name& name = names_[event.name];
  std::string arguments;
  for (size_t i = 0; i < kArguments; ++i) {
    if (event.arguments[i] == kNoValue) continue;
    arguments += fmt::format("{}{}:{}", arguments.empty() ? "" : ",", Quoted(name.labels[i]),
                             event.arguments[i]);
  }
  return fmt::format(R"({{"ph":"X","pid":1,"tid":{},"ts":{},"dur":{},"name":{},"args":{{{}}}}})",
                     row, Micros(start), Micros(end - start), Quoted(name.text), arguments);
}

std::string Trace::LaneText(size_t row, const std::string& name) const {
  return fmt::format(R"({{"ph":"M","pid":1,"tid":{0},"name":"thread_name","args":{{"name":{1}}}}},)"
                     "\n"
                     R"({{"ph":"M","pid":1,"tid":{0},"name":"thread_sort_index","args":)"
                     R"({{"sort_index":{0}}}}})",
                     row, Quoted(name));
}

Status Trace::Write(const Sink& sink) const {
  const std::vector<Event> events = Sorted();
  // Rows are numbered so that those of one lane lie together.
  std::vector<Rows> rows(lanes_.size());
  std::vector<size_t> row_of(events.size());
  std::vector<size_t> row_count(lanes_.size(), 1);
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.lane == kCounterLane || !lanes_[event.lane].overlaps) continue;
    row_of[i] = rows[event.lane].Place(event.start_ns, event.end_ns);
    row_count[event.lane] = std::max(row_count[event.lane], row_of[i] + 1);
  }
  std::string piece = fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"dropped\":{}}},\"traceEvents\":[\n"
      R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":"penstock"}}}})",
      dropped());
  std::vector<size_t> first_row(lanes_.size());
  size_t next = 1;
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    first_row[lane] = next;
    for (size_t i = 0; i < row_count[lane]; ++i) {
      const bool several = row_count[lane] > 1;
      piece += ",\n" + LaneText(next++, several ? fmt::format("{} [{}]", lanes_[lane].text, i)
                                                : lanes_[lane].text);
    }
  }
  for (size_t i = 0; i < events.size(); ++i) {
    const Id lane = events[i].lane;
    piece += ",\n" + Text(events[i], lane == kCounterLane ? 0 : first_row[lane] + row_of[i]);
    if (piece.size() < kPieceBytes) continue;
    PENSTOCK_TRY_VOID(sink(piece));
    piece.clear();
  }
  piece += "\n]}\n";
  return sink(piece);
}

}  // namespace penstock
