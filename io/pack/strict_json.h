#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "runtime/result.h"

namespace penstock::io {

// Reading of documents whose every key is known: each must be there once, and no other. `place` is
// the file, or the file and what in it; it begins every message. All refuse with kRefused.

using JsonValue = simdjson::ondemand::value;

struct JsonField {
  std::string_view key;
  std::function<Status(JsonValue&)> read;
};

// The text of one JSON object and nothing behind it.
Status ReadDocument(std::string_view text, std::string_view place,
                    std::span<const JsonField> fields);
Status ReadFields(JsonValue& value, std::string_view place, std::span<const JsonField> fields);

// What is wrong with a value that `key` must not have.
Error BadValue(std::string_view place, std::string_view key, std::string_view expected);

// Fields of the commonest kinds. `into` and `place` must outlive the reading.
JsonField NumberField(std::string_view key, std::string_view place, uint64_t& into);
JsonField TextField(std::string_view key, std::string_view place, std::string& into);
// Refuses any other text.
JsonField ConstantField(std::string_view key, std::string_view place, std::string_view expected);
// Calls `read` for each element with its index.
JsonField ListField(std::string_view key, std::string_view place,
                    std::function<Status(JsonValue&, size_t index)> read);

// Appends `text`, which must be UTF-8, as a JSON string.
void AppendJsonText(std::string_view text, std::string& out);

}  // namespace penstock::io
