#include "runtime/options/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/options/nearest.h"
#include "runtime/small_file.h"

namespace penstock {
namespace options_detail {
namespace {

Error OutOfRange(std::string_view range, std::string_view text) {
  return Refused(fmt::format("expected {}, got \"{}\"", range, text));
}

}  // namespace

Result<Wide> ParseInteger(std::string_view text, Wide min, Wide max) {
  const bool negative = text.starts_with('-');
  uint64_t magnitude = 0;
  const char* first = text.data() + (negative ? 1 : 0);
  const char* last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(first, last, magnitude);
  const Wide value = negative ? -static_cast<Wide>(magnitude) : static_cast<Wide>(magnitude);
  if (failure != std::errc() || end != last || value < min || value > max) {
    return OutOfRange("an integer from " + FormatRange(min, max), text);
  }
  return value;
}

Result<double> ParseDouble(std::string_view text, double min, double max) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), last, value);
  // Written so that NaN is refused.
  if (failure != std::errc() || end != last || !(value >= min && value <= max)) {
    return OutOfRange("a number from " + FormatRange(min, max), text);
  }
  return value;
}

Result<ByteSize> ParseSizeIn(std::string_view text, uint64_t min, uint64_t max) {
  PENSTOCK_TRY(const ByteSize size, ParseSize(text));
  if (size.bytes < min || size.bytes > max) {
    return OutOfRange("a size from " + FormatRange(ByteSize{min}, ByteSize{max}), text);
  }
  return size;
}

Result<Duration> ParseDurationIn(std::string_view text, uint64_t min, uint64_t max) {
  PENSTOCK_TRY(const Duration duration, ParseDuration(text));
  if (duration.ns < min || duration.ns > max) {
    return OutOfRange("a duration from " + FormatRange(Duration{min}, Duration{max}), text);
  }
  return duration;
}

Result<bool> ParseBool(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return OutOfRange("true or false", text);
}

Status CheckChoice(std::string_view text, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
  return OutOfRange("one of " + Join(choices, "|"), text);
}

std::string FormatRange(Wide min, Wide max) {
  const auto print = [](Wide value) {
    return value < 0 ? fmt::format("{}", static_cast<int64_t>(value))
                     : fmt::format("{}", static_cast<uint64_t>(value));
  };
  return print(min) + " to " + print(max);
}

std::string FormatRange(double min, double max) { return fmt::format("{:g} to {:g}", min, max); }

std::string FormatRange(ByteSize min, ByteSize max) {
  return FormatSize(min) + " to " + FormatSize(max);
}

std::string FormatRange(Duration min, Duration max) {
  return FormatDuration(min) + " to " + FormatDuration(max);
}

std::vector<std::string> SplitNames(std::string_view names) {
  std::vector<std::string> out;
  for (;;) {
    const size_t comma = names.find(',');
    out.emplace_back(names.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    names.remove_prefix(comma + 1);
  }
}

std::string Join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

OptionRow RowVisitor::Row(const char* names, const char* help) const {
  OptionRow row;
  row.section = section_;
  row.names = SplitNames(names);
  row.help = help;
  return row;
}

void RowVisitor::operator()(const char* names, std::string& field,
                            std::initializer_list<std::string_view> choices, const char* help) {
  OptionRow row = Row(names, help);
  const std::vector<std::string> allowed(choices.begin(), choices.end());
  row.range = Join(allowed, "|");
  row.assign = [&field, allowed](std::string_view text) -> Status {
    PENSTOCK_TRY_VOID(CheckChoice(text, allowed));
    field = text;
    return {};
  };
  row.value = [&field] { return Json(field); };
  add_(std::move(row));
}

void RowVisitor::operator()(const char* names, std::string& field, const char* help) {
  OptionRow row = Row(names, help);
  row.assign = [&field](std::string_view text) -> Status {
    field = text;
    return {};
  };
  row.value = [&field] { return Json(field); };
  add_(std::move(row));
}

void RowVisitor::operator()(const char* names, bool& field, const char* help) {
  OptionRow row = Row(names, help);
  row.is_switch = true;
  row.assign = Assign(field, ParseBool);
  row.value = [&field] { return Json(field); };
  add_(std::move(row));
}

}  // namespace options_detail

std::string OptionRow::Key() const {
  return section.empty() ? names.front() : section + "." + names.front();
}

std::string OptionRow::Flag() const {
  return (names.front().size() == 1 ? "-" : "--") + names.front();
}

void OptionSet::AddRow(OptionRow row) {
  for (const std::string& name : row.names) PENSTOCK_CHECK(Find(name) == nullptr);
  const Json value = row.value();
  row.default_text = value.is_string() ? value.get<std::string>() : value.dump();
  rows_.push_back(std::move(row));
}

const OptionRow* OptionSet::Find(std::string_view name) const {
  for (const OptionRow& row : rows_) {
    if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) return &row;
  }
  return nullptr;
}

Json OptionSet::ToJson() const {
  Json out = Json::object();
  for (const OptionRow& row : rows_) {
    Json& object = row.section.empty() ? out : out[row.section];
    object[row.names.front()] = row.value();
  }
  return out;
}

Status OptionSet::FromJson(const Json& json, std::string_view source) {
  if (!json.is_object()) {
    return Refused(fmt::format("{}: expected an object, got {}", source, json.type_name()));
  }
  for (const auto& [key, value] : json.items()) {
    if (!value.is_object()) {
      PENSTOCK_TRY_VOID(AssignJson(key, value, source));
      continue;
    }
    for (const auto& [inner, inner_value] : value.items()) {
      PENSTOCK_TRY_VOID(AssignJson(key + "." + inner, inner_value, source));
    }
  }
  return {};
}

Status OptionSet::AssignJson(std::string_view key, const Json& value, std::string_view source) {
  const auto row =
      std::find_if(rows_.begin(), rows_.end(), [&](const OptionRow& r) { return r.Key() == key; });
  if (row == rows_.end()) {
    std::vector<std::string> keys;
    for (const OptionRow& known : rows_) keys.push_back(known.Key());
    const std::string nearest = Nearest(key, keys);
    return Refused(fmt::format("{}: unknown key \"{}\"{}", source, key,
                               nearest.empty() ? "" : ", the nearest is \"" + nearest + "\""));
  }
  if (!value.is_primitive() || value.is_null()) {
    return Refused(fmt::format("{}: {} expects a single value, got {}", source, key,
                               value.is_null() ? "null" : value.type_name()));
  }
  if (auto done = row->assign(value.is_string() ? value.get<std::string>() : value.dump()); !done) {
    return Refused(fmt::format("{}: {}: {}", source, key, done.error().message));
  }
  return {};
}

Status OptionSet::FromJsonFile(const std::string& path) {
  PENSTOCK_TRY(const std::string text, ReadSmallFile(path));
  try {
    return FromJson(Json::parse(text), path);
  } catch (const Json::exception& failure) {
    return Refused(fmt::format("{}: not JSON: {}", path, failure.what()));
  }
}

}  // namespace penstock
