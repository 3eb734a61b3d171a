#include "models/k3/commands/generate/verify.h"

#include <sstream>

#include <fmt/format.h>

#include "models/k3/commands/generate/run_record.h"
#include "runtime/options/options.h"
#include "runtime/small_file.h"

namespace penstock::k3 {
namespace {

constexpr size_t kLargestRecord = size_t{1} << 30;

bool IsEvent(const Json& record) {
  return record.is_object() && record.contains("schema") && record["schema"] == kEventSchema &&
         record.contains("event");
}

}  // namespace

Result<Verification> Verification::Read(const std::string& path) {
  PENSTOCK_TRY(std::string text, ReadSmallFile(path, kLargestRecord));
  Verification verification;
  verification.path_ = path;
  std::istringstream lines(std::move(text));
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const Json record = Json::parse(line, nullptr, false);
    if (!IsEvent(record)) {
      return Refused(fmt::format("{}:{}: expected a {} record", path, number, kEventSchema));
    }
    if (record["event"] == "run_start" && record.contains("checkpoint_id") &&
        record["checkpoint_id"].is_string()) {
      verification.checkpoint_id_ = record["checkpoint_id"];
    }
    if (record["event"] != "token") continue;
    const auto id = record.find("id");
    if (id == record.end() || !id->is_number_unsigned() || id->get<uint64_t>() > UINT32_MAX) {
      return Refused(fmt::format("{}:{}: expected a token id below 2^32", path, number));
    }
    verification.ids_.push_back(id->get<text::TokenId>());
  }
  if (verification.ids_.empty()) return Refused(fmt::format("{} records no token", path));
  return verification;
}

Status Verification::Check(size_t index, text::TokenId id) const {
  if (index >= ids_.size() || ids_[index] == id) return {};
  return Unsound(fmt::format("token {} differs from {}: expected id {}, got {}", index, path_,
                             ids_[index], id));
}

}  // namespace penstock::k3
