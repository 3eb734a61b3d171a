#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/options/options.h"
#include "runtime/result.h"

namespace penstock {

// One command of a program, for its help and its messages.
struct CommandLine {
  std::string name;        // "penstock generate"
  std::string summary;     // One sentence.
  std::string positional;  // Name of the option that a bare argument sets; "" takes none.
  std::vector<std::string> examples;
};

enum class Parsed { kRun, kHelp };

// Reads arguments (without the program's and the command's name) into `options`: first the file of
// `--config FILE`, then the flags, so that a flag beats the file wherever it stands. The last of a
// repeated flag counts. A row of the name "config" is an option like any other: there is no such file
// then. --help and -h answer kHelp and check nothing.
// Refused: an unknown flag (the nearest known one is named), a value out of range (the range is
// named), a flag without its value, an argument too many.
Result<Parsed> ParseCommandLine(const CommandLine& command, std::span<const std::string> arguments,
                                OptionSet& options);

// The text of --help: usage, options by section with unit, range and default, examples.
std::string FormatHelp(const CommandLine& command, const OptionSet& options);

}  // namespace penstock
