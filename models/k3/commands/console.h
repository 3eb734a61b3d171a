#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/notice.h"
#include "runtime/output/progress.h"
#include "runtime/result.h"

namespace penstock::k3 {

// The two streams of the program. stdout carries results alone and nothing is buffered: what has
// been written is out. Everything else goes to stderr, one line at a time.
// Threads: Say from any; the rest from one.
class Console {
 public:
  Console();

  // Results. Fails when stdout cannot take them (a full disk, a closed pipe).
  Status Write(std::string_view text);
  // The same as the last act of a command: answers its exit code.
  int Answer(std::string_view text);
  bool writes_to_terminal() const { return out_terminal_; }

  // One line for the person, with the program's name in front.
  void Say(std::string_view line);
  // Lines as they are.
  void SayPlain(std::string_view text);
  // Says what went wrong and where, and answers the exit code that belongs to it.
  int Fail(const Error& error);
  Notice notice();

  // A progress line on stderr, in the place of an earlier one. It is left out where the result
  // itself moves on the same terminal.
  void StartProgress(std::string unit, uint64_t total);
  void Advance(uint64_t done, std::string_view note);
  void EndProgress();

 private:
  void Print(std::string_view text);

  bool out_terminal_;
  bool error_terminal_;
  std::mutex mutex_;  // Of stderr and the progress line on it.
  std::optional<Progress> progress_;
};

}  // namespace penstock::k3
