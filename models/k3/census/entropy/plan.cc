#include "models/k3/census/entropy/plan.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "models/k3/census/entropy/form.h"

namespace penstock::k3 {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The order of groups: rank, then text, then number.
using GroupKey = std::tuple<int, std::string, uint64_t>;

GroupKey KeyOfPlace(const CensusPlace& place) {
  if (place.layer) return {1, "layer ", *place.layer};
  const int rank = place.kind == CensusKind::kEmbedding ? 0
                   : place.kind == CensusKind::kHead    ? 2
                   : place.kind == CensusKind::kVectors ? 3
                                                        : 4;
  return {rank, std::string(CensusKindName(place.kind)), UINT64_MAX};
}

// "a.b.3.c" as ("a.b.", 3); without a component of digits "a.b.c" as ("a.b", none).
GroupKey KeyOfName(const std::string& name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    uint64_t number = 0;
    const auto [at, error] = std::from_chars(name.data() + begin, name.data() + end, number);
    if (end > begin && error == std::errc() && at == name.data() + end && number != UINT64_MAX) {
      return {0, name.substr(0, begin), number};
    }
    begin = end + 1;
  }
  return {0, name.substr(0, name.rfind('.')), UINT64_MAX};
}

std::string NameOf(const GroupKey& key) {
  const auto& [rank, text, number] = key;
  return number == UINT64_MAX ? text : text + std::to_string(number);
}

// Where the number of an expert stands in "....experts.17.w1": (set, number).
struct Expert {
  std::string_view set;
  uint64_t number = 0;
};

std::optional<Expert> ExpertOf(std::string_view name) {
  constexpr std::string_view kExperts = ".experts.";
  const size_t at = name.find(kExperts);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t begin = at + kExperts.size();
  size_t end = begin;
  while (end < name.size() && IsDigit(name[end])) ++end;
  Expert expert{name.substr(0, begin), 0};
  const auto parsed = std::from_chars(name.data() + begin, name.data() + end, expert.number);
  if (end == begin || parsed.ec != std::errc() || expert.number > UINT32_MAX) return std::nullopt;
  return expert;
}

// Experts of each set: the highest number and one.
using ExpertSets = std::map<std::string, uint64_t, std::less<>>;

ExpertSets CountExperts(const io::Checkpoint& checkpoint) {
  ExpertSets sets;
  for (size_t i = 0; i < checkpoint.size(); ++i) {
    const std::string name = checkpoint.tensor(i).name();
    const auto expert = ExpertOf(name);
    if (!expert) continue;
    auto found = sets.find(expert->set);
    if (found == sets.end()) found = sets.emplace(expert->set, 0).first;
    found->second = std::max(found->second, expert->number + 1);
  }
  return sets;
}

// True for `wanted` of `total` numbers, evenly spread from 0: those of the form i * total / wanted.
bool IsChosen(uint64_t number, uint64_t total, uint64_t wanted) {
  if (wanted >= total) return true;
  const uint64_t i = (number * wanted + total - 1) / total;
  return i < wanted && i * total / wanted == number;
}

void Choose(const std::string& name, const ExpertSets& sets, const EntropySample& sample,
            EntropyTensor& tensor) {
  tensor.read = true;
  tensor.weight = 1;
  const auto expert = ExpertOf(name);
  if (!expert || sample.full) return;
  const uint64_t total = sets.find(expert->set)->second;
  tensor.read = IsChosen(expert->number, total, sample.experts);
  tensor.weight = std::max(
      1.0, static_cast<double>(total) / static_cast<double>(std::max<uint64_t>(1, sample.experts)));
}

uint64_t BytesToRead(uint64_t bytes, const EntropySample& sample) {
  return sample.full ? bytes : std::min(bytes, sample.blocks * sample.block_bytes);
}

}  // namespace

std::vector<SampleBlock> SampleBlocks(uint64_t tensor_bytes, const EntropySample& sample) {
  if (tensor_bytes == 0 || sample.blocks == 0) return {};
  if (tensor_bytes <= sample.blocks * sample.block_bytes) return {{0, tensor_bytes}};
  std::vector<SampleBlock> out;
  const uint64_t whole = tensor_bytes / sample.block_bytes;  // At least sample.blocks.
  const uint64_t steps = std::max<uint64_t>(1, sample.blocks - 1);
  for (uint64_t i = 0; i < sample.blocks; ++i) {
    out.push_back({i * (whole - 1) / steps * sample.block_bytes, sample.block_bytes});
  }
  return out;
}

EntropyPlan PlanEntropy(const io::Checkpoint& checkpoint, size_t layers,
                        const EntropySample& sample) {
  const ExpertSets sets = CountExperts(checkpoint);
  EntropyPlan plan;
  for (const auto& [set, experts] : sets) plan.experts = std::max(plan.experts, experts);
  std::map<GroupKey, std::vector<EntropyTensor>> groups;
  for (size_t i = 0; i < checkpoint.size(); ++i) {
    const io::TensorInfo info = checkpoint.tensor(i);
    const std::string name = info.name();
    EntropyTensor tensor;
    tensor.index = i;
    GroupKey key = KeyOfName(name);
    if (layers > 0) {
      const CensusPlace place = CensusPlaceOf(name, layers);
      tensor.kind = place.kind;
      key = KeyOfPlace(place);
    }
    Choose(name, sets, sample, tensor);
    tensor.read =
        tensor.read && EntropyFormOf(info) != EntropyForm::kOther && info.extent.bytes > 0;
    if (tensor.read) plan.bytes += BytesToRead(info.extent.bytes, sample);
    groups[key].push_back(tensor);
  }
  for (auto& [key, tensors] : groups) {
    EntropyGroup group{NameOf(key), {}};
    if (layers > 0 && std::get<0>(key) == 1) group.layer = std::get<2>(key);
    for (EntropyTensor& tensor : tensors) {
      tensor.group = plan.groups.size();
      plan.tensors.push_back(tensor);
    }
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

}  // namespace penstock::k3
