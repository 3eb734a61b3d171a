#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/text/encoding/vocabulary.h"
#include "tests/models/text/encoding/ranks_file.h"

namespace penstock::text {

inline Vocabulary SmallVocabulary(const std::vector<std::string>& tokens) {
  auto parsed = Vocabulary::Parse({"ranks", RanksFile(tokens)},
                                  {"config", R"({"added_tokens_decoder": {}})"}, SIZE_MAX);
  if (!parsed) ADD_FAILURE() << parsed.error().message;
  return std::move(parsed).value();
}

}  // namespace penstock::text
