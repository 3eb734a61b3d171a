#include "runtime/output/progress.h"

#include <algorithm>

#include <fmt/format.h>

namespace penstock {
namespace {

constexpr uint64_t kTerminalPeriodNs = 100'000'000;
constexpr uint64_t kPlainPeriodNs = 10'000'000'000;

std::string Remaining(double seconds) {
  if (!(seconds < 360'000)) return "> 99 h";
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

}  // namespace

Progress::Progress(Sink sink, bool terminal, std::string unit, uint64_t total)
    : sink_(std::move(sink)), terminal_(terminal), unit_(std::move(unit)), total_(total) {}

void Progress::Update(uint64_t done, uint64_t now_ns, std::string_view note) {
  if (!started_) {
    started_ = true;
    start_ns_ = shown_ns_ = now_ns;
    start_done_ = done;
    if (!terminal_) return;  // Nothing to say yet, and a short run should say nothing at all.
  } else if (now_ns - shown_ns_ < (terminal_ ? kTerminalPeriodNs : kPlainPeriodNs)) {
    return;
  }
  shown_ns_ = now_ns;
  const std::string line = Line(done, now_ns, note);
  if (!terminal_) return sink_(line + "\n");
  const size_t left_over = width_ > line.size() ? width_ - line.size() : 0;
  sink_(fmt::format("\r{}{}", line, std::string(left_over, ' ')));
  width_ = line.size();
}

void Progress::Clear() {
  if (width_ == 0) return;
  sink_(fmt::format("\r{}\r", std::string(width_, ' ')));
  width_ = 0;
}

std::string Progress::Line(uint64_t done, uint64_t now_ns, std::string_view note) const {
  std::string line =
      total_ > 0 ? fmt::format("{}/{} {}", done, total_, unit_) : fmt::format("{} {}", done, unit_);
  const double seconds = static_cast<double>(now_ns - start_ns_) * 1e-9;
  if (done > start_done_ && seconds > 0) {
    const double rate = static_cast<double>(done - start_done_) / seconds;
    line += fmt::format("  {:.3g} {}/s", rate, unit_);
    if (total_ > done) {
      line += "  " + Remaining(static_cast<double>(total_ - done) / rate) + " left";
    }
  }
  if (!note.empty()) line += fmt::format("  {}", note);
  return line;
}

}  // namespace penstock
