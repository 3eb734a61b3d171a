#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Ids that a run is forced to emit behind a prompt.
struct ForcedText {
  std::string name;
  std::vector<text::TokenId> prompt;
  std::vector<text::TokenId> ids;
};

// Texts of `tokens` ids behind a prompt of as many, of a vocabulary of `vocab`; the same in every run.
//   repeating   a list, and the list again: what was drafted is right
//   random      different ids: there is next to nothing to draft
//   misleading  of four ids, at random: there is always something to draft, and it is mostly wrong
// `names` as "repeating,random". kRefused for others.
Result<std::vector<ForcedText>> MakeTexts(const std::string& names, size_t tokens, size_t vocab);

// `count` different-looking ids; the same for the same seed.
std::vector<text::TokenId> RandomIds(size_t count, size_t vocab, unsigned seed);

}  // namespace penstock::k3
