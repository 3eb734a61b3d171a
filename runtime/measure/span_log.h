#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace penstock {

// A time from `begin_ns` to `end_ns` in which something was the case; which, says `kind`.
struct TimeSpan {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint32_t kind = 0;
};

// When something was the case, noted as it happens and taken out now and then. At most one kind is
// the case at a time. Allocates in the constructor alone: where more than `capacity` spans have
// closed since the last Take, the last one grows over what came between.
// Threads: any.
class SpanLog {
 public:
  explicit SpanLog(size_t capacity) : capacity_(capacity) { closed_.reserve(capacity); }

  // It is the case from now on. Nothing changes where it was already; another kind ends.
  void Open(uint64_t now_ns, uint32_t kind = 0);
  void Close(uint64_t now_ns);

  // Appends the spans that have begun before `now_ns`, in order of time; one that is open is cut
  // there and goes on.
  void Take(uint64_t now_ns, std::vector<TimeSpan>* spans);

 private:
  void CloseLocked(uint64_t now_ns);

  const size_t capacity_;
  std::mutex mutex_;
  std::vector<TimeSpan> closed_;
  bool is_open_ = false;
  TimeSpan open_;
};

}  // namespace penstock
