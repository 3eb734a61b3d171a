#include "runtime/options/command_line.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/options/nearest.h"

namespace penstock {
namespace {

constexpr size_t kHelpColumn = 26;
constexpr size_t kHelpWidth = 96;

// A flag as it stood on the command line; applied after --config has been read.
struct Assignment {
  const OptionRow* row;
  std::string spelling;
  std::string text;
};

struct Arguments {
  std::vector<Assignment> assignments;
  std::string config;
  bool help = false;
  std::vector<std::string> rest;  // What is no known flag.
};

std::string Dashed(const std::string& name) { return (name.size() == 1 ? "-" : "--") + name; }

// "-t,--threads" as CLI11 wants it.
std::string Spellings(const OptionRow& row) {
  std::vector<std::string> flags;
  for (const std::string& name : row.names) flags.push_back(Dashed(name));
  return options_detail::Join(flags, ",");
}

void AddSwitch(CLI::App& app, const OptionRow& row, Arguments& arguments) {
  const auto set = [&arguments, &row](const char* text) {
    return [&arguments, &row, text](int64_t) {
      arguments.assignments.push_back({&row, row.Flag(), text});
    };
  };
  app.add_flag_function(Spellings(row), set("true"))->disable_flag_override();
  if (row.names.front().size() > 1) {
    app.add_flag_function("--no-" + row.names.front(), set("false"))->disable_flag_override();
  }
}

void AddFlags(CLI::App& app, const OptionSet& options, Arguments& arguments) {
  for (const OptionRow& row : options.rows()) {
    if (row.is_switch) {
      AddSwitch(app, row, arguments);
      continue;
    }
    app.add_option_function<std::string>(
           Spellings(row),
           [&arguments, &row](const std::string& text) {
             arguments.assignments.push_back({&row, row.Flag(), text});
           })
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  if (options.Find("config") == nullptr) {  // A command may have another use for the word.
    app.add_option("--config", arguments.config)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  app.add_flag("-h,--help", arguments.help);
}

Error UnknownFlag(const OptionSet& options, const std::string& argument) {
  std::vector<std::string> flags = {"--config", "--help"};
  for (const OptionRow& row : options.rows()) {
    for (const std::string& name : row.names) flags.push_back(Dashed(name));
  }
  const std::string flag = argument.substr(0, argument.find('='));
  const std::string nearest = Nearest(flag, flags);
  return Refused(
      fmt::format("unknown flag {}{}", flag, nearest.empty() ? "" : ", the nearest is " + nearest));
}

Result<Arguments> Read(const OptionSet& options, std::span<const std::string> words) {
  Arguments arguments;
  CLI::App app;
  app.set_help_flag();  // The help is ours: made from the rows.
  app.allow_extras();
  AddFlags(app, options, arguments);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& failure) {
    return Refused(failure.what());
  }
  arguments.rest = app.remaining();
  return arguments;
}

bool LooksLikeFlag(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// At most one bare argument, and only where the command takes one.
Status TakePositional(const CommandLine& command, const OptionSet& options, Arguments& arguments) {
  for (const std::string& word : arguments.rest) {
    if (LooksLikeFlag(word)) return UnknownFlag(options, word);
  }
  const size_t allowed = command.positional.empty() ? 0 : 1;
  if (arguments.rest.size() > allowed) {
    return Refused(fmt::format("{} does not expect the argument \"{}\"", command.name,
                               arguments.rest[allowed]));
  }
  if (arguments.rest.empty()) return {};
  const OptionRow* row = options.Find(command.positional);
  PENSTOCK_CHECK(row != nullptr);
  arguments.assignments.push_back({row, row->Flag(), arguments.rest.front()});
  return {};
}

// Breaks `text` at blanks so that it fits beside the flags.
std::string Wrap(const std::string& text) {
  std::string out, line;
  for (size_t at = 0; at < text.size();) {
    const size_t blank = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, blank - at);
    if (!line.empty() && kHelpColumn + line.size() + 1 + word.size() > kHelpWidth) {
      out += line + "\n" + std::string(kHelpColumn, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = blank + 1;
  }
  return out + line;
}

std::string Details(const OptionRow& row) {
  std::vector<std::string> parts;
  if (!row.range.empty()) {
    parts.push_back(row.unit.empty() || row.unit == "bytes" ? row.range
                                                            : row.range + " " + row.unit);
  }
  if (!row.default_text.empty() && !row.is_switch) parts.push_back("default " + row.default_text);
  if (row.is_switch && row.default_text == "true") parts.push_back("on; --no-" + row.names.front());
  return parts.empty() ? "" : " [" + options_detail::Join(parts, ", ") + "]";
}

std::string HelpLine(const OptionRow& row) {
  std::vector<std::string> flags;
  for (auto name = row.names.rbegin(); name != row.names.rend(); ++name) {
    flags.push_back(Dashed(*name));
  }
  std::stable_sort(flags.begin(), flags.end(), [](const auto& a, const auto& b) {
    return a.size() < b.size() && a.size() == 2;
  });
  std::string left = "  " + options_detail::Join(flags, ", ");
  if (!row.is_switch) left += row.unit.empty() ? " VALUE" : row.unit == "bytes" ? " SIZE" : " N";
  left += left.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                        : std::string(kHelpColumn - left.size(), ' ');
  return left + Wrap(row.help + Details(row)) + "\n";
}

}  // namespace

Result<Parsed> ParseCommandLine(const CommandLine& command, std::span<const std::string> arguments,
                                OptionSet& options) {
  PENSTOCK_TRY(Arguments read, Read(options, arguments));
  if (read.help) return Parsed::kHelp;
  PENSTOCK_TRY_VOID(TakePositional(command, options, read));
  if (!read.config.empty()) PENSTOCK_TRY_VOID(options.FromJsonFile(read.config));
  for (const Assignment& one : read.assignments) {
    if (auto done = one.row->assign(one.text); !done) {
      return Refused(fmt::format("{}: {}", one.spelling, done.error().message));
    }
  }
  return Parsed::kRun;
}

std::string FormatHelp(const CommandLine& command, const OptionSet& options) {
  std::string out = fmt::format("{}\n\nusage: {} {}[options]\n", command.summary, command.name,
                                command.positional.empty() ? "" : command.positional + " ");
  std::string section = "-";
  for (const OptionRow& row : options.rows()) {
    if (row.section != section)
      out += fmt::format("\n{}:\n", row.section.empty() ? "options" : row.section);
    section = row.section;
    out += HelpLine(row);
  }
  out += "\nalways:\n";
  if (options.Find("config") == nullptr) {
    out +=
        "  --config FILE           Values as JSON, in the form that \"penstock config\" prints; "
        "flags beat it.\n";
  }
  out += "  -h, --help              This text.\n";
  if (!command.examples.empty()) out += "\nexamples:\n";
  for (const std::string& example : command.examples) out += "  " + example + "\n";
  return out;
}

}  // namespace penstock
