#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace penstock {

// How far a long run is: one line that rewrites itself on a terminal, a plain line now and then
// elsewhere. Prints nothing itself: the text goes to the sink. Uses no colour and no escape
// sequence, so NO_COLOR and dumb terminals need no special case. Not thread-safe.
class Progress {
 public:
  using Sink = std::function<void(std::string_view)>;

  // `total` 0: no end is known and no remaining time is shown. `unit` names what is counted, in
  // the plural.
  Progress(Sink sink, bool terminal, std::string unit, uint64_t total);

  // `done` of the total at time `now_ns` of a clock that never goes back; `note` is appended.
  // Shown at most every 100 ms on a terminal and every 10 s elsewhere.
  void Update(uint64_t done, uint64_t now_ns, std::string_view note = {});

  // Takes the line off the terminal, before something else is printed there.
  void Clear();

 private:
  std::string Line(uint64_t done, uint64_t now_ns, std::string_view note) const;

  Sink sink_;
  bool terminal_;
  std::string unit_;
  uint64_t total_;
  bool started_ = false;
  uint64_t start_ns_ = 0;
  uint64_t start_done_ = 0;
  uint64_t shown_ns_ = 0;
  size_t width_ = 0;  // Of the line that is on the terminal now.
};

}  // namespace penstock
