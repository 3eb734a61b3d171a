#include "io/engines/decorators/fault_script.h"

#include <charconv>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/options/nearest.h"

namespace penstock::io {
namespace {

constexpr Duration kMostTime{60'000'000'000};
constexpr Duration kReorderTime{2'000'000};

struct Word {
  std::string_view name;
  std::optional<std::string_view> value;
};

Word SplitWord(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// Takes what stands before the next `separator` off the front of `rest`; false when nothing is
// left.
bool TakeField(std::optional<std::string_view>* rest, char separator, std::string_view* field) {
  if (!*rest) return false;
  const size_t end = (*rest)->find(separator);
  *field = (*rest)->substr(0, end);
  *rest = end == std::string_view::npos ? std::nullopt : std::optional((*rest)->substr(end + 1));
  return true;
}

Error Unknown(std::string_view what, std::string_view word, std::span<const std::string> known) {
  const std::string nearest = Nearest(word, known);
  if (!nearest.empty()) {
    return Refused(
        fmt::format("--fault has no {} \"{}\"; the nearest is \"{}\"", what, word, nearest));
  }
  return Refused(
      fmt::format("--fault has no {} \"{}\"; there are {}", what, word, fmt::join(known, ", ")));
}

Result<uint64_t> ParseNumber(std::string_view text, std::string_view of, uint64_t least) {
  uint64_t number = 0;
  const char* last = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), last, number);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != last || number < least) {
    return Refused(
        fmt::format("--fault: {} takes a whole number from {} on, got \"{}\"", of, least, text));
  }
  return number;
}

Result<Duration> ParseTime(std::string_view text, std::string_view of) {
  const auto time = ParseDuration(text);
  if (time && *time <= kMostTime) return time;
  return Refused(
      fmt::format("--fault: {} takes a time of at most 1m, such as 5ms, got \"{}\"", of, text));
}

Status ReadSelector(std::string_view text, const std::string& tag_name, FaultRule* rule) {
  const Word word = SplitWord(text);
  const std::vector<std::string> known = {"every", "file", "offset", "tag", tag_name};
  std::optional<uint64_t>* field = nullptr;
  uint64_t least = 0;
  if (!word.value && !text.empty() && text[0] >= '0' && text[0] <= '9') {
    PENSTOCK_TRY(rule->nth, ParseNumber(text, "@N", 1));
    return {};
  }
  if (word.name == "every") {
    field = &rule->every;
    least = 1;
  } else if (word.name == "file") {
    field = &rule->file;
  } else if (word.name == "tag" || word.name == tag_name) {
    field = &rule->tag;
  } else if (word.name != "offset") {
    return Unknown("selector", word.name, known);
  }
  const std::string of = fmt::format("@{}=", word.name);
  const std::string_view value = word.value.value_or("");
  if (field != nullptr) {
    PENSTOCK_TRY(*field, ParseNumber(value, of, least));
    return {};
  }
  const auto offset = ParseSize(value);
  if (!offset) return Refused(fmt::format("--fault: {} {}", of, offset.error().message));
  rule->offset = offset->bytes;
  return {};
}

Result<FaultRule> ReadKind(const Word& word) {
  static constexpr std::pair<std::string_view, FaultKind> kKinds[] = {
      {"short", FaultKind::kShort}, {"eio", FaultKind::kEio},     {"eagain", FaultKind::kEagain},
      {"eintr", FaultKind::kEintr}, {"delay", FaultKind::kDelay}, {"reorder", FaultKind::kReorder}};
  std::vector<std::string> known = {"seed"};
  for (const auto& [name, kind] : kKinds) {
    known.emplace_back(name);
    if (name != word.name) continue;
    FaultRule rule;
    rule.kind = kind;
    if (kind == FaultKind::kDelay || (kind == FaultKind::kReorder && word.value)) {
      PENSTOCK_TRY(rule.time, ParseTime(word.value.value_or(""), word.name));
    } else if (kind == FaultKind::kReorder) {
      rule.time = kReorderTime;
    } else if (word.value) {
      return Refused(fmt::format("--fault: {} takes no value, got \"{}\"", name, *word.value));
    }
    return rule;
  }
  return Unknown("fault", word.name, known);
}

Status ReadClause(std::string_view clause, const std::string& tag_name, FaultScript* script) {
  std::optional<std::string_view> rest = clause;
  std::string_view field;
  TakeField(&rest, '@', &field);
  const Word head = SplitWord(field);
  if (head.name == "seed") {
    if (rest) return Refused("--fault: seed=N takes no selector");
    PENSTOCK_TRY(script->seed, ParseNumber(head.value.value_or(""), "seed=", 0));
    return {};
  }
  PENSTOCK_TRY(FaultRule rule, ReadKind(head));
  while (TakeField(&rest, '@', &field)) {
    PENSTOCK_TRY_VOID(ReadSelector(field, tag_name, &rule));
  }
  script->rules.push_back(rule);
  return {};
}

}  // namespace

bool FaultRule::Matches(const EngineRead& read, uint64_t number) const {
  if (nth && number != *nth) return false;
  if (every && number % *every != 0) return false;
  if (file && read.file != *file) return false;
  if (tag && read.tag != *tag) return false;
  return !offset || (*offset >= read.offset && *offset - read.offset < read.bytes);
}

Result<FaultScript> ParseFaultScript(std::string_view text, const std::string& tag_name) {
  FaultScript script;
  script.text = text;
  if (text.empty()) return script;
  std::optional<std::string_view> rest = text;
  std::string_view clause;
  while (TakeField(&rest, ',', &clause)) {
    PENSTOCK_TRY_VOID(ReadClause(clause, tag_name, &script));
  }
  return script;
}

}  // namespace penstock::io
