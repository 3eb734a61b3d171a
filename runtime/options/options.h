#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/options/zero_is_auto.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock {

using Json = nlohmann::ordered_json;

// One option, independent of its struct and type. Declared once, as a row of
//
//   template <class Self, class V> static void Visit(Self& c, V&& v) {
//     v("iodepth", c.iodepth, "reads", 1, 4096, "Reads in flight per device.");  // integer,
//     double, v("ring", c.ring, "bytes", 0, kTiB, "Bytes of the ring.");          // ByteSize,
//     Duration (ns) v("ioengine", c.ioengine, {"auto", "pread"}, "How reads are made.");       //
//     std::string v("model,m", c.model, "Directory of the checkpoint.");                     //
//     std::string, bool
//   }
//
// An integer that may be left to the program is a std::optional: none is written "auto", and both
// are read.
//
// The name is the flag's spelling (--iodepth) and the key in JSON (io.iodepth). Names after a comma
// are further spellings of the flag, one letter for -m. The default is the member initialiser.
struct OptionRow {
  std::string section;             // Object in JSON and heading in the help; "" for the top level.
  std::vector<std::string> names;  // The first is the key in JSON.
  std::string unit;                // "" for strings and switches.
  std::string range;               // "1 to 4096", "auto|pread", "" when anything goes.
  std::string help;
  std::string default_text;  // The value when the struct was added.
  bool is_switch = false;    // A bool: a flag without a value, and its --no- form.
  std::function<Status(std::string_view text)> assign;  // Checks the range, then writes the field.
  std::function<Json()> value;

  std::string Key() const;   // "io.iodepth"
  std::string Flag() const;  // "--iodepth", or "-m" when the only name has one letter.
};

// Options of several structs side by side: what the flags, the JSON in and out, the help and the
// header of every result are made from. Keeps pointers to the fields: the structs must outlive it
// and stay where they are. Not thread-safe.
class OptionSet {
 public:
  template <class T>
  void Add(std::string section, T& options);

  const std::vector<OptionRow>& rows() const { return rows_; }
  const OptionRow* Find(std::string_view name) const;  // By any of its names, without dashes.

  // Effective values, nested by section. Sizes and durations as text that reads back ("8M").
  Json ToJson() const;

  // Takes values from the form that ToJson writes; keys that are absent keep their value. An
  // unknown key is refused and the nearest known one named; a value out of range is refused with
  // the range. `source` (a file name) begins the messages. On an error some values may be set.
  Status FromJson(const Json& json, std::string_view source);
  Status FromJsonFile(const std::string& path);

 private:
  void AddRow(OptionRow row);
  Status AssignJson(std::string_view key, const Json& value, std::string_view source);

  std::vector<OptionRow> rows_;
};

// The options of one struct as JSON without a section.
template <class T>
Json OptionsToJson(const T& options) {
  T copy = options;
  OptionSet set;
  set.Add("", copy);
  return set.ToJson();
}

namespace options_detail {

using Wide = __int128;  // Holds every int64_t and uint64_t.

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

Result<Wide> ParseInteger(std::string_view text, Wide min, Wide max);
Result<double> ParseDouble(std::string_view text, double min, double max);
Result<ByteSize> ParseSizeIn(std::string_view text, uint64_t min, uint64_t max);
Result<Duration> ParseDurationIn(std::string_view text, uint64_t min, uint64_t max);
Result<bool> ParseBool(std::string_view text);
Status CheckChoice(std::string_view text, const std::vector<std::string>& choices);
std::string FormatRange(Wide min, Wide max);
std::string FormatRange(double min, double max);
std::string FormatRange(ByteSize min, ByteSize max);
std::string FormatRange(Duration min, Duration max);
std::vector<std::string> SplitNames(std::string_view names);
std::string Join(const std::vector<std::string>& words, std::string_view separator);

// Turns the calls of Visit into rows that hold a pointer to the field.
class RowVisitor {
 public:
  RowVisitor(std::string section, std::function<void(OptionRow)> add)
      : section_(std::move(section)), add_(std::move(add)) {}

  template <class T, class Min, class Max>
  void operator()(const char* names, T& field, const char* unit, Min min, Max max,
                  const char* help) {
    OptionRow row = Row(names, help);
    row.unit = unit;
    if constexpr (kIsOptional<T>) {
      const Wide low = min, high = max;
      row.range = "auto, " + FormatRange(low, high);
      row.assign = [&field, low, high](std::string_view text) -> Status {
        if (text == "auto") {
          field.reset();
          return {};
        }
        PENSTOCK_TRY(const Wide value, ParseInteger(text, low, high));
        field = static_cast<typename T::value_type>(value);
        return {};
      };
      row.value = [&field] { return field ? Json(*field) : Json("auto"); };
    } else if constexpr (std::is_same_v<Min, ZeroIsAuto>) {
      static_assert(std::is_same_v<T, ByteSize>);
      const ByteSize high{static_cast<uint64_t>(max)};
      row.range = "auto, " + FormatRange(ByteSize{}, high);
      row.assign = Assign(field, [=](auto text) {
        return text == "auto" ? ByteSize{} : ParseSizeIn(text, 0, high.bytes);
      });
      row.value = [&field] { return Json(field.bytes == 0 ? "auto" : FormatSize(field)); };
    } else if constexpr (std::is_same_v<T, ByteSize>) {
      const ByteSize low{static_cast<uint64_t>(min)}, high{static_cast<uint64_t>(max)};
      row.range = FormatRange(low, high);
      row.assign =
          Assign(field, [=](auto text) { return ParseSizeIn(text, low.bytes, high.bytes); });
      row.value = [&field] { return Json(FormatSize(field)); };
    } else if constexpr (std::is_same_v<T, Duration>) {
      const Duration low{static_cast<uint64_t>(min)}, high{static_cast<uint64_t>(max)};
      row.range = FormatRange(low, high);
      row.assign = Assign(field, [=](auto text) { return ParseDurationIn(text, low.ns, high.ns); });
      row.value = [&field] { return Json(FormatDuration(field)); };
    } else if constexpr (std::is_floating_point_v<T>) {
      const double low = static_cast<double>(min), high = static_cast<double>(max);
      row.range = FormatRange(low, high);
      row.assign = Assign(field, [=](auto text) { return ParseDouble(text, low, high); });
      row.value = [&field] { return Json(field); };
    } else {
      static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>);
      const Wide low = min, high = max;
      row.range = FormatRange(low, high);
      row.assign = Assign(field, [=](auto text) { return ParseInteger(text, low, high); });
      row.value = [&field] { return Json(field); };
    }
    add_(std::move(row));
  }

  void operator()(const char* names, std::string& field,
                  std::initializer_list<std::string_view> choices, const char* help);
  void operator()(const char* names, std::string& field, const char* help);
  void operator()(const char* names, bool& field, const char* help);

 private:
  OptionRow Row(const char* names, const char* help) const;

  template <class T, class Parse>
  static std::function<Status(std::string_view)> Assign(T& field, Parse parse) {
    return [&field, parse](std::string_view text) -> Status {
      auto parsed = parse(text);
      if (!parsed) return std::move(parsed).error();
      field = static_cast<T>(*parsed);
      return {};
    };
  }

  std::string section_;
  std::function<void(OptionRow)> add_;
};

}  // namespace options_detail

template <class T>
void OptionSet::Add(std::string section, T& options) {
  T::Visit(options, options_detail::RowVisitor(std::move(section),
                                               [this](OptionRow row) { AddRow(std::move(row)); }));
}

}  // namespace penstock
