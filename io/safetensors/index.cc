#include "io/safetensors/index.h"

#include <span>

#include <fmt/format.h>
#include <simdjson.h>

#include "io/safetensors/names.h"
#include "io/safetensors/regular_file.h"

namespace penstock::io {
namespace {

namespace json = simdjson::ondemand;

Error BadIndexJson(std::string_view index, simdjson::error_code error) {
  return Refused(
      fmt::format("{}: the index is not valid JSON: {}", index, simdjson::error_message(error)));
}

Status ReadWeightMap(json::value& value, std::string_view index, const IndexEntry& entry) {
  json::object map;
  if (auto error = value.get_object().get(map)) {
    if (error != simdjson::INCORRECT_TYPE) return BadIndexJson(index, error);
    return Refused(fmt::format("{}: expected 'weight_map' to be an object, got else", index));
  }
  for (auto field : map) {
    std::string_view tensor;
    std::string_view file;
    if (auto error = field.unescaped_key().get(tensor)) return BadIndexJson(index, error);
    PENSTOCK_TRY_VOID(CheckTensorName(tensor, index));
    if (auto error = field.value().get_string().get(file)) {
      if (error != simdjson::INCORRECT_TYPE) return BadIndexJson(index, error);
      return Refused(fmt::format("{}: tensor {}: expected the name of a file, got else", index,
                                 Quoted(tensor)));
    }
    PENSTOCK_TRY_VOID(CheckFileName(file, index));
    PENSTOCK_TRY_VOID(entry(tensor, file));
  }
  return {};
}

Status ParseIndexText(simdjson::padded_string_view text, std::string_view index,
                      const IndexEntry& entry) {
  json::parser parser;
  json::document document;
  if (auto error = parser.iterate(text).get(document)) return BadIndexJson(index, error);
  json::object root;
  if (auto error = document.get_object().get(root)) return BadIndexJson(index, error);
  bool seen = false;
  for (auto field : root) {
    std::string_view key;
    json::value value;
    if (auto error = field.unescaped_key().get(key)) return BadIndexJson(index, error);
    if (key != "weight_map") continue;
    if (seen) return Refused(fmt::format("{}: the key 'weight_map' is there twice", index));
    seen = true;
    if (auto error = field.value().get(value)) return BadIndexJson(index, error);
    PENSTOCK_TRY_VOID(ReadWeightMap(value, index, entry));
  }
  if (document.current_location().error() == simdjson::SUCCESS) {
    return Refused(fmt::format("{}: the index has more than one JSON object", index));
  }
  if (!seen) return Refused(fmt::format("{}: expected the key 'weight_map', got none", index));
  return {};
}

}  // namespace

Status ParseIndex(std::string_view text, std::string_view index, const IndexEntry& entry) {
  const simdjson::padded_string padded(text);
  return ParseIndexText(padded, index, entry);
}

Status ReadIndex(const std::string& path, const IndexEntry& entry) {
  PENSTOCK_TRY(const RegularFile file, RegularFile::Open(path));
  if (file.size() > kMaxIndexBytes) {
    return Refused(
        fmt::format("{}: expected at most {} bytes, got {}", path, kMaxIndexBytes, file.size()));
  }
  std::string text(file.size() + simdjson::SIMDJSON_PADDING, '\0');
  PENSTOCK_TRY_VOID(file.ReadAt(0, std::span(text).first(file.size())));
  return ParseIndexText(simdjson::padded_string_view(text.data(), file.size(), text.size()), path,
                        entry);
}

}  // namespace penstock::io
