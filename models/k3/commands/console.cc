#include "models/k3/commands/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/measure/clock.h"
#include "runtime/output/file_out.h"

namespace penstock::k3 {

Console::Console() : out_terminal_(::isatty(1) == 1), error_terminal_(::isatty(2) == 1) {}

Status Console::Write(std::string_view text) { return WriteAll(1, text, "the standard output"); }

void Console::Print(std::string_view text) {
  // There is nobody to tell when stderr is gone.
  static_cast<void>(WriteAll(2, text, "the standard error output"));
}

void Console::Say(std::string_view line) { SayPlain(fmt::format("penstock: {}\n", line)); }

void Console::SayPlain(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (progress_) progress_->Clear();
  Print(text);
}

int Console::Answer(std::string_view text) {
  const Status written = Write(text);
  return written ? 0 : Fail(written.error());
}

int Console::Fail(const Error& error) {
  Say(error.where.empty() ? error.message : fmt::format("{} ({})", error.message, error.where));
  return ExitCode(error);
}

Notice Console::notice() {
  return [this](std::string_view line) { Say(line); };
}

void Console::StartProgress(std::string unit, uint64_t total) {
  if (out_terminal_ && error_terminal_) return;
  const std::lock_guard lock(mutex_);
  if (progress_) progress_->Clear();
  progress_.emplace([this](std::string_view text) { Print(text); }, error_terminal_,
                    std::move(unit), total);
}

void Console::Advance(uint64_t done, std::string_view note) {
  const std::lock_guard lock(mutex_);
  if (progress_) progress_->Update(done, NowNs(Clock::kWall), note);
}

void Console::EndProgress() {
  const std::lock_guard lock(mutex_);
  if (progress_) progress_->Clear();
  progress_.reset();
}

}  // namespace penstock::k3
