#include "models/k3/state/saved_facts.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "io/pack/sum/sum.h"

namespace penstock::k3 {
namespace {

constexpr size_t kConfigDigits = 16;
constexpr size_t kIdentityDigits = 32;

struct ShapeField {
  const char* name;
  uint64_t StateShape::*field;
};
constexpr ShapeField kShapeFields[] = {
    {"kda_layers", &StateShape::kda_layers}, {"kda_heads", &StateShape::kda_heads},
    {"kda_width", &StateShape::kda_width},   {"conv_taps", &StateShape::conv_taps},
    {"mla_layers", &StateShape::mla_layers}, {"page_width", &StateShape::page_width}};

std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json ToFactsJson(const SavedFacts& facts) {
  Json shape = Json::object();
  for (const ShapeField& row : kShapeFields) shape[row.name] = facts.shape.*row.field;
  return {{"schema", kStateSchema},
          {"config", facts.owner.config},
          {"checkpoint_id", facts.owner.checkpoint_id},
          {"shape", std::move(shape)},
          {"position", facts.position},
          {"prompt", facts.sequence.prompt},
          {"settings", facts.sequence.settings},
          {"log_probabilities", facts.sequence.log_probabilities},
          {"ids", facts.sequence.ids}};
}

// The members of one JSON object, with the path that leads to it for messages.
class FactsObject {
 public:
  FactsObject(const Json& object, std::string path, const std::string& file)
      : object_(object), path_(std::move(path)), file_(file) {}

  Error Bad(const char* key, std::string_view expected) const {
    const auto found = object_.find(key);
    std::string got = "none";
    if (found != object_.end()) {
      got = found->is_primitive() ? TextOf(*found).substr(0, 60) : found->type_name();
    }
    return Refused(
        fmt::format("{}: key '{}{}': expected {}, got {}", file_, path_, key, expected, got));
  }

  const Json* Find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  Status Number(const char* key, uint64_t min, uint64_t max, uint64_t& out) const {
    const Json* const value = Find(key);
    if (value == nullptr || !value->is_number_unsigned() || value->get<uint64_t>() < min ||
        value->get<uint64_t>() > max) {
      return Bad(key, fmt::format("a whole number from {} to {}", min, max));
    }
    out = value->get<uint64_t>();
    return {};
  }

  Status Hex(const char* key, size_t digits, std::string& out) const {
    const Json* const value = Find(key);
    if (value != nullptr && value->is_string()) out = value->get<std::string>();
    if (out.size() != digits || out.find_first_not_of("0123456789abcdef") != std::string::npos) {
      return Bad(key, fmt::format("{} hex digits", digits));
    }
    return {};
  }

 private:
  const Json& object_;
  std::string path_;
  const std::string& file_;
};

Status ReadStateShape(const FactsObject& facts, const std::string& file, StateShape& shape) {
  const Json* const value = facts.Find("shape");
  if (value == nullptr || !value->is_object()) return facts.Bad("shape", "an object");
  const FactsObject object(*value, "shape.", file);
  for (const ShapeField& row : kShapeFields) {
    PENSTOCK_TRY_VOID(object.Number(row.name, 0, uint64_t{1} << 32, shape.*row.field));
  }
  return {};
}

Status ReadIdsOf(const FactsObject& facts, std::vector<text::TokenId>& ids) {
  const Json* const list = facts.Find("ids");
  const auto is_id = [](const Json& id) {
    return id.is_number_unsigned() && id.get<uint64_t>() <= UINT32_MAX;
  };
  if (list == nullptr || !list->is_array() || !std::all_of(list->begin(), list->end(), is_id)) {
    return facts.Bad("ids", "a list of ids below 2^32");
  }
  ids = list->get<std::vector<text::TokenId>>();
  return {};
}

Status ReadSettings(const FactsObject& facts, Json& settings) {
  const Json* const value = facts.Find("settings");
  const auto is_plain = [](const Json& setting) {
    return setting.is_number() || setting.is_boolean() || setting.is_string();
  };
  if (value == nullptr || !value->is_object() ||
      !std::all_of(value->begin(), value->end(), is_plain)) {
    return facts.Bad("settings", "an object of numbers, switches and texts");
  }
  settings = *value;
  return {};
}

Status ReadLogProbabilities(const FactsObject& facts, size_t chosen, std::vector<double>& out) {
  const Json* const list = facts.Find("log_probabilities");
  const auto is_one = [](const Json& value) {
    return value.is_number_float() && value.get<double>() <= 0;
  };
  if (list == nullptr || !list->is_array() || (!list->empty() && list->size() != chosen) ||
      !std::all_of(list->begin(), list->end(), is_one)) {
    return facts.Bad("log_probabilities",
                     fmt::format("none, or one of at most 0 for {} ids", chosen));
  }
  out = list->get<std::vector<double>>();
  return {};
}

}  // namespace

std::string ConfigDigest(std::string_view text_config) {
  return fmt::format("{:016x}", io::SumOf(std::as_bytes(std::span(text_config))));
}

std::string FormatFacts(const SavedFacts& facts) { return TextOf(ToFactsJson(facts)); }

Result<SavedFacts> ParseFacts(std::string_view text, const std::string& file) {
  if (text.size() > kMostStateFacts) {
    return Refused(fmt::format("{}: expected facts of at most {} bytes, got {}", file,
                               kMostStateFacts, text.size()));
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Refused(fmt::format("{}: expected facts in JSON, got else", file));
  const FactsObject object(json, "", file);
  if (const Json* const schema = object.Find("schema");
      schema == nullptr || *schema != kStateSchema) {
    return object.Bad("schema", kStateSchema);
  }
  SavedFacts facts;
  SavedSequence& sequence = facts.sequence;
  PENSTOCK_TRY_VOID(object.Hex("config", kConfigDigits, facts.owner.config));
  PENSTOCK_TRY_VOID(object.Hex("checkpoint_id", kIdentityDigits, facts.owner.checkpoint_id));
  PENSTOCK_TRY_VOID(ReadStateShape(object, file, facts.shape));
  PENSTOCK_TRY_VOID(ReadIdsOf(object, sequence.ids));
  const uint64_t known = sequence.ids.size();
  PENSTOCK_TRY_VOID(object.Number("position", 1, known, facts.position));
  uint64_t prompt = 0;
  PENSTOCK_TRY_VOID(object.Number("prompt", 1, known, prompt));
  sequence.prompt = prompt;
  PENSTOCK_TRY_VOID(ReadSettings(object, sequence.settings));
  PENSTOCK_TRY_VOID(ReadLogProbabilities(object, known - prompt, sequence.log_probabilities));
  // Nothing else is in it, nothing twice, and nothing in another notation.
  if (FormatFacts(facts) != text) {
    return Refused(fmt::format("{}: expected facts as this program writes them, got others", file));
  }
  return facts;
}

}  // namespace penstock::k3
