#include "io/pack/strict_json.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/safetensors/names.h"

namespace penstock::io {
namespace {

namespace json = simdjson::ondemand;

Error BadJson(std::string_view place, simdjson::error_code error) {
  return Refused(
      fmt::format("{}: expected valid JSON, got: {}", place, simdjson::error_message(error)));
}

Status ReadObject(json::object& object, std::string_view place, std::span<const JsonField> fields) {
  std::vector<bool> seen(fields.size());
  for (auto field : object) {
    std::string_view key;
    JsonValue value;
    if (auto error = field.unescaped_key().get(key)) return BadJson(place, error);
    const auto known = std::find_if(fields.begin(), fields.end(),
                                    [key](const JsonField& f) { return f.key == key; });
    if (known == fields.end()) {
      return Refused(fmt::format("{}: unknown key {}", place, Quoted(key)));
    }
    const auto index = static_cast<size_t>(known - fields.begin());
    if (seen[index]) return Refused(fmt::format("{}: the key '{}' is there twice", place, key));
    seen[index] = true;
    if (auto error = field.value().get(value)) return BadJson(place, error);
    PENSTOCK_TRY_VOID(known->read(value));
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return {};
  return Refused(fmt::format("{}: expected the key '{}', got none", place,
                             fields[static_cast<size_t>(missing - seen.begin())].key));
}

}  // namespace

Error BadValue(std::string_view place, std::string_view key, std::string_view expected) {
  return Refused(fmt::format("{}: expected '{}' to be {}, got else", place, key, expected));
}

Status ReadDocument(std::string_view text, std::string_view place,
                    std::span<const JsonField> fields) {
  const simdjson::padded_string padded(text);
  json::parser parser;
  json::document document;
  json::object root;
  if (auto error = parser.iterate(padded).get(document)) return BadJson(place, error);
  if (auto error = document.get_object().get(root)) {
    if (error != simdjson::INCORRECT_TYPE) return BadJson(place, error);
    return Refused(fmt::format("{}: expected a JSON object, got else", place));
  }
  PENSTOCK_TRY_VOID(ReadObject(root, place, fields));
  // current_location fails exactly when nothing follows the object.
  if (document.current_location().error() == simdjson::SUCCESS) {
    return Refused(fmt::format("{}: expected one JSON object, got more behind it", place));
  }
  return {};
}

Status ReadFields(JsonValue& value, std::string_view place, std::span<const JsonField> fields) {
  json::object object;
  if (auto error = value.get_object().get(object)) {
    if (error != simdjson::INCORRECT_TYPE) return BadJson(place, error);
    return Refused(fmt::format("{}: expected an object, got else", place));
  }
  return ReadObject(object, place, fields);
}

JsonField NumberField(std::string_view key, std::string_view place, uint64_t& into) {
  return {key, [=, &into](JsonValue& value) -> Status {
            if (value.get_uint64().get(into)) {
              return BadValue(place, key, "a whole number below 2^64");
            }
            return {};
          }};
}

JsonField TextField(std::string_view key, std::string_view place, std::string& into) {
  return {key, [=, &into](JsonValue& value) -> Status {
            std::string_view text;
            if (value.get_string().get(text)) return BadValue(place, key, "a string");
            into = text;
            return {};
          }};
}

JsonField ConstantField(std::string_view key, std::string_view place, std::string_view expected) {
  return {key, [=](JsonValue& value) -> Status {
            std::string_view text;
            if (value.get_string().get(text)) return BadValue(place, key, "a string");
            if (text == expected) return {};
            return Refused(fmt::format("{}: expected the {} '{}', got {}", place, key, expected,
                                       Quoted(text)));
          }};
}

JsonField ListField(std::string_view key, std::string_view place,
                    std::function<Status(JsonValue&, size_t index)> read) {
  return {key, [=, read = std::move(read)](JsonValue& value) -> Status {
            json::array array;
            if (value.get_array().get(array)) return BadValue(place, key, "a list");
            size_t index = 0;
            for (auto element : array) {
              JsonValue entry;
              if (auto error = element.get(entry)) return BadJson(place, error);
              PENSTOCK_TRY_VOID(read(entry, index++));
            }
            return {};
          }};
}

void AppendJsonText(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace penstock::io
