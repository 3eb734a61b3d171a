#include "tests/models/k3/oracle/expectations.h"

#include <fstream>

#include <nlohmann/json.hpp>

namespace penstock::k3::oracle {
namespace {

Result<std::vector<float>> ReadLogits(const std::string& path, size_t count) {
  std::vector<float> values(count);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(count * sizeof(float)));
  if (!file || file.peek() != std::ifstream::traits_type::eof()) {
    return Refused(path + " does not hold " + std::to_string(count) + " float32 values");
  }
  return values;
}

Result<Expectation> ReadPrompt(const nlohmann::json& prompt, size_t vocab) {
  Expectation e;
  prompt.at("text").get_to(e.text);
  prompt.at("ids").get_to(e.ids);
  prompt.at("greedy").get_to(e.greedy);
  prompt.at("greedy_text").get_to(e.greedy_text);
  prompt.at("min_margin").get_to(e.min_margin);
  prompt.at("min_router_margin").get_to(e.min_router_margin);
  if (!prompt.at("stop_index").is_null()) e.stop_index = prompt.at("stop_index").get<size_t>();
  if (prompt.contains("top5")) prompt.at("top5").get_to(e.top5);
  if (prompt.contains("logits_file") && !prompt.at("logits_file").is_null()) {
    const std::string path = TinyDirectory() + "/" + prompt.at("logits_file").get<std::string>();
    PENSTOCK_TRY(e.logits, ReadLogits(path, vocab));
  }
  return e;
}

}  // namespace

std::string TinyDirectory() { return PENSTOCK_SOURCE_DIR "/models/k3/tiny"; }

Result<std::vector<Expectation>> ReadTinyExpectations() {
  const std::string path = TinyDirectory() + "/k3-tiny-expected.json";
  std::ifstream file(path);
  if (!file) return Refused("cannot open " + path);
  try {
    const auto json = nlohmann::json::parse(file);
    std::vector<Expectation> expectations;
    for (const auto& prompt : json.at("prompts")) {
      PENSTOCK_TRY(expectations.emplace_back(),
                   ReadPrompt(prompt, json.at("vocab_size").get<size_t>()));
    }
    return expectations;
  } catch (const std::exception& error) {  // nlohmann-json reports by exceptions.
    return Refused(path + ": " + error.what());
  }
}

}  // namespace penstock::k3::oracle
