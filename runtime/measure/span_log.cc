#include "runtime/measure/span_log.h"

namespace penstock {

void SpanLog::Open(uint64_t now_ns, uint32_t kind) {
  const std::lock_guard lock(mutex_);
  if (is_open_ && open_.kind == kind) return;
  CloseLocked(now_ns);
  is_open_ = true;
  open_ = {now_ns, now_ns, kind};
}

void SpanLog::Close(uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  CloseLocked(now_ns);
}

void SpanLog::CloseLocked(uint64_t now_ns) {
  if (!is_open_) return;
  is_open_ = false;
  if (now_ns <= open_.begin_ns) return;
  open_.end_ns = now_ns;
  if (closed_.size() < capacity_) {
    closed_.push_back(open_);
  } else if (capacity_ > 0) {
    closed_.back().end_ns = now_ns;
  }
}

void SpanLog::Take(uint64_t now_ns, std::vector<TimeSpan>* spans) {
  const std::lock_guard lock(mutex_);
  spans->insert(spans->end(), closed_.begin(), closed_.end());
  closed_.clear();
  if (!is_open_ || now_ns <= open_.begin_ns) return;
  spans->push_back({open_.begin_ns, now_ns, open_.kind});
  open_.begin_ns = now_ns;
}

}  // namespace penstock
