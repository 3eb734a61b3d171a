#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/k3/census/census.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

using Json = nlohmann::ordered_json;

// 1234567 as "1,234,567".
std::string Grouped(uint64_t number) {
  std::string out = std::to_string(number);
  for (size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
  return out;
}

// "a, b" broken at commas into lines of at most `width` columns behind `indent`.
std::string Wrapped(const std::string& list, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size() - 1) + 1;
    if (column + end - begin > width && column > indent) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    out += list.substr(begin, end - begin);
    column += end - begin;
    begin = end;
  }
  return out;
}

constexpr size_t kWidth = 100;

void AppendHead(const Census& census, std::string& out) {
  out +=
      fmt::format("{}\n  {} tensors, {} bytes ({}) in {} files, {}\n  checkpoint id {}\n",
                  census.directory, Grouped(census.total.tensors), Grouped(census.total.bytes),
                  DescribeSize(census.total.bytes), census.files.size(),
                  census.has_index ? "placed by the index" : "without an index", census.identity);
  out += fmt::format("\n{:<10}{:>12}{:>24}\n", "dtype", "tensors", "bytes");
  for (const auto& [dtype, count] : census.dtypes) {
    out += fmt::format("{:<10}{:>12}{:>24}\n", io::DtypeName(dtype), Grouped(count.tensors),
                       Grouped(count.bytes));
  }
}

void AppendPatterns(const Census& census, std::string& out) {
  out +=
      fmt::format("\n{:>9}{:>22}  {:<8}{:<18} {}\n", "tensors", "bytes", "dtype", "shape", "name");
  for (const CensusPattern& pattern : census.patterns) {
    std::string name = pattern.name;
    if (name.starts_with("language_model.")) name.replace(0, 15, "~");
    out += fmt::format("{:>9}{:>22}  {:<8}{:<18} {}\n", Grouped(pattern.count.tensors),
                       Grouped(pattern.count.bytes), io::DtypeName(pattern.dtype),
                       fmt::format("{}", pattern.shape), name);
  }
  out += "(~ stands for language_model., * for a number)\n";
}

// Layers that agree in kind and bytes share one block.
void AppendLayers(const CensusModel& model, std::string& out) {
  using Key = std::pair<std::string, std::vector<uint64_t>>;
  std::map<Key, std::vector<size_t>> alike;
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    const CensusLayer& l = model.layers[layer];
    Key key{fmt::format("{} + {}", l.kda ? "KDA" : "MLA", l.moe ? "MoE" : "dense"), {}};
    for (const CensusCount& count : l.kinds) key.second.push_back(count.bytes);
    alike[key].push_back(layer);
  }
  out += "\nbytes of one layer\n";
  for (const auto& [key, layers] : alike) {
    const std::string title = fmt::format("  {}, layers ", key.first);
    out += fmt::format("{}{}\n", title, Wrapped(Ranges(layers), title.size(), kWidth));
    for (size_t kind = 0; kind < kCensusKinds; ++kind) {
      if (key.second[kind] == 0) continue;
      out += fmt::format("    {:<12}{:>24}\n", CensusKindName(static_cast<CensusKind>(kind)),
                         Grouped(key.second[kind]));
    }
  }
  out += "bytes outside the layers\n";
  for (size_t kind = 0; kind < kCensusKinds; ++kind) {
    if (model.ends[kind].tensors == 0) continue;
    out += fmt::format("    {:<12}{:>24}\n", CensusKindName(static_cast<CensusKind>(kind)),
                       Grouped(model.ends[kind].bytes));
  }
}

void AppendModel(const CensusModel& model, std::string& out) {
  AppendLayers(model, out);
  const uint64_t all = model.step_trunk_bytes + model.step_head_bytes + model.step_expert_bytes +
                       model.step_row_bytes;
  out += "\nbytes a step of one position reads with nothing kept in memory\n";
  for (const auto& [what, bytes] : {std::pair{"trunk", model.step_trunk_bytes},
                                    {"experts", model.step_expert_bytes},
                                    {"head", model.step_head_bytes},
                                    {"embedding", model.step_row_bytes},
                                    {"together", all}}) {
    out += fmt::format("    {:<12}{:>24}\n", what, Grouped(bytes));
  }
  out += "\nread from config.json\n";
  for (const auto& [key, value] : model.read) out += fmt::format("  {:<44}{}\n", key, value);
  out += "\ninferred\n";
  for (const auto& [what, value] : model.inferred) {
    out += fmt::format("  {:<44}{}\n", what, Wrapped(value, 46, kWidth));
  }
}

Json CountJson(const CensusCount& count) {
  return {{"tensors", count.tensors}, {"bytes", count.bytes}};
}

Json CountsJson(const CensusCounts& counts) {
  Json out = Json::object();
  for (size_t kind = 0; kind < kCensusKinds; ++kind) {
    if (counts[kind].tensors == 0) continue;
    out[std::string(CensusKindName(static_cast<CensusKind>(kind)))] = CountJson(counts[kind]);
  }
  return out;
}

Json ModelJson(const CensusModel& model) {
  Json layers = Json::array();
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    const CensusLayer& l = model.layers[layer];
    uint64_t bytes = 0;
    for (const CensusCount& count : l.kinds) bytes += count.bytes;
    layers.push_back({{"layer", layer},
                      {"attention", l.kda ? "KDA" : "MLA"},
                      {"mlp", l.moe ? "MoE" : "dense"},
                      {"bytes", bytes},
                      {"kinds", CountsJson(l.kinds)}});
  }
  Json read = Json::object(), inferred = Json::object();
  for (const auto& [key, value] : model.read) {
    if (key != "eos_token_id") read[key] = value;
  }
  read["eos_token_id"] = model.eos;
  for (const auto& [what, value] : model.inferred) inferred[what] = value;
  return {{"parameters", model.parameters},
          {"layers", std::move(layers)},
          {"outside_layers", CountsJson(model.ends)},
          {"step_bytes",
           {{"trunk", model.step_trunk_bytes},
            {"experts", model.step_expert_bytes},
            {"head", model.step_head_bytes},
            {"embedding", model.step_row_bytes}}},
          {"read", std::move(read)},
          {"inferred", std::move(inferred)}};
}

}  // namespace

std::string CensusTable(const Census& census) {
  std::string out;
  AppendHead(census, out);
  AppendPatterns(census, out);
  if (census.model) {
    AppendModel(*census.model, out);
  } else {
    out += fmt::format("\nno K3 checkpoint: {}\n", census.not_k3);
  }
  return out;
}

Json CensusJson(const Census& census) {
  Json dtypes = Json::object(), patterns = Json::array();
  for (const auto& [dtype, count] : census.dtypes) {
    dtypes[std::string(io::DtypeName(dtype))] = CountJson(count);
  }
  for (const CensusPattern& pattern : census.patterns) {
    patterns.push_back({{"name", pattern.name},
                        {"dtype", io::DtypeName(pattern.dtype)},
                        {"shape", pattern.shape},
                        {"tensors", pattern.count.tensors},
                        {"bytes", pattern.count.bytes}});
  }
  Json out = {{"directory", census.directory},   {"checkpoint", census.identity},
              {"index", census.has_index},       {"files", census.files},
              {"tensors", census.total.tensors}, {"bytes", census.total.bytes},
              {"dtypes", std::move(dtypes)},     {"names", std::move(patterns)}};
  if (census.model) {
    out["k3"] = ModelJson(*census.model);
  } else {
    out["not_k3"] = census.not_k3;
  }
  return out;
}

}  // namespace penstock::k3
