#include "models/text/encoding/special_spellings.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace penstock::text {
namespace {

using Json = nlohmann::json;

// Watches a parse for what a DOM forgets: a key that stands twice in one object.
class TwiceWatcher {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second && !twice_) twice_ = key;
    }
    return true;
  }
  const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::optional<std::string> twice_;
};

Result<Json> ParseStrict(const std::string& json, const std::string& file) {
  TwiceWatcher watcher;
  try {
    Json parsed = Json::parse(json, std::ref(watcher));
    if (watcher.twice()) {
      return Refused(fmt::format("{}: expected every key once, got \"{:.60}\" twice in one object",
                                 file, *watcher.twice()));
    }
    return parsed;
  } catch (const Json::parse_error& error) {
    const size_t byte = std::min(error.byte, json.size());
    const auto line = 1 + std::count(json.begin(), json.begin() + static_cast<long>(byte), '\n');
    return Refused(
        fmt::format("{}, line {}: expected JSON, got something else at byte {}", file, line, byte));
  }
}

std::optional<uint64_t> ParseId(const std::string& key) {
  uint32_t id = 0;
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, id);
  if (error != std::errc() || stop != end || key != std::to_string(id)) return std::nullopt;
  return id;
}

}  // namespace

Result<std::map<uint64_t, std::string>> ParseSpecialSpellings(const std::string& json,
                                                              const std::string& file) {
  PENSTOCK_TRY(const Json root, ParseStrict(json, file));
  const auto decoder = root.is_object() ? root.find("added_tokens_decoder") : root.end();
  if (decoder == root.end() || !decoder->is_object()) {
    return Refused(fmt::format("{}: expected an object \"added_tokens_decoder\", got {}", file,
                               decoder == root.end() ? "none" : decoder->type_name()));
  }
  std::map<uint64_t, std::string> spellings;
  for (const auto& [key, entry] : decoder->items()) {
    const auto id = ParseId(key);
    if (!id) {
      return Refused(fmt::format(
          "{}: added_tokens_decoder: expected decimal ids as keys, got \"{:.60}\"", file, key));
    }
    const auto content = entry.is_object() ? entry.find("content") : entry.end();
    if (content == entry.end() || !content->is_string() ||
        content->get_ref<const std::string&>().empty()) {
      return Refused(fmt::format(
          "{}: added_tokens_decoder[\"{}\"].content: expected a spelling, got {}", file, key,
          content == entry.end() ? "none"
          : content->is_string() ? "\"\""
                                 : content->type_name()));
    }
    spellings.emplace(*id, content->get<std::string>());
  }
  return spellings;
}

}  // namespace penstock::text
