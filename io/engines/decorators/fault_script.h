#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/engines/engine.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::io {

enum class FaultKind {
  kShort,    // Half of the bytes arrive; what is asked for again arrives whole.
  kEio,      // The device reports an error; nothing is read.
  kEagain,   // The kernel asks to try again.
  kEintr,    // A signal came in between.
  kDelay,    // The completion comes `time` late.
  kReorder,  // It comes up to `time` late, drawn at random, so that completions overtake.
};

// One clause of --fault. Without a selector it applies to every read, else to those that all of
// its selectors name.
struct FaultRule {
  FaultKind kind = FaultKind::kShort;
  Duration time;
  std::optional<uint64_t> nth;     // Counted from 1 over all reads that reach the engine.
  std::optional<uint64_t> every;   // Each read whose number is a multiple of it.
  std::optional<uint64_t> file;    // Extent::file
  std::optional<uint64_t> offset;  // A byte of the file that the read covers.
  std::optional<uint64_t> tag;     // Extent::tag

  bool Matches(const EngineRead& read, uint64_t number) const;
};

struct FaultScript {
  std::string text;
  std::vector<FaultRule> rules;
  uint64_t seed = 1;  // Of reorder.
};

// script   = clause *("," clause)
// clause   = ("short" | "eio" | "eagain" | "eintr" | "delay=" TIME | "reorder" ["=" TIME])
// *selector
//          | "seed=" N
// selector = "@" N | "@every=" N | "@file=" N | "@offset=" SIZE | "@tag=" N | "@" tag_name "=" N
// An unknown word is refused and the nearest known one named. No time is above one minute.
Result<FaultScript> ParseFaultScript(std::string_view text, const std::string& tag_name);

}  // namespace penstock::io
