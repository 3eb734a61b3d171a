#pragma once

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/text/tokenizer.h"

namespace penstock::text {

// The tokenizer and the expected values beside the embedded checkpoint.
inline const std::string kTinyDirectory = PENSTOCK_SOURCE_DIR "/models/k3/tiny";
inline constexpr size_t kTinyVocab = 2048;

inline const Tokenizer& TinyTokenizer() {
  static const Tokenizer* tokenizer = [] {
    auto loaded = Tokenizer::Load(kTinyDirectory, kTinyVocab);
    if (!loaded) ADD_FAILURE() << loaded.error().message;
    return new Tokenizer(std::move(loaded).value());
  }();
  return *tokenizer;
}

inline nlohmann::json TinyJson(const std::string& name) {
  std::ifstream file(kTinyDirectory + "/" + name);
  EXPECT_TRUE(file) << name;
  return nlohmann::json::parse(file);
}

}  // namespace penstock::text
