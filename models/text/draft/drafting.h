#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "models/text/draft/drafter.h"
#include "models/text/draft/economics.h"
#include "runtime/result.h"

namespace penstock::text {

struct DraftOptions {
  std::string draft_max = "auto";
  size_t draft_min_match = 2;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("draft-max", self.draft_max,
      "Ids guessed ahead and verified in one step, from what the text repeats: a number, 0 for "
      "none, "
      "or auto, as many as measurements say that it pays. Changes time alone.");
    v("draft-min-match", self.draft_min_match, "tokens", size_t{1}, size_t{1} << 20,
      "The shortest repetition from which ids are guessed.");
  }
};

// "auto" is nothing, "8" is 8. Anything else is refused.
Result<std::optional<size_t>> ParseDraftMax(std::string_view text);

// Who guesses, and how many ids.
struct Drafting {
  std::unique_ptr<Drafter> drafter;
  DraftEconomics economics;
};

// As the options say, for a model whose steps take `max_positions`: drafts are at most one shorter.
// Nothing where there is nothing to draft (0, or steps of one position). kRefused for a draft-max
// that cannot be read.
Result<std::optional<Drafting>> CreateDrafting(const DraftOptions& options, size_t max_positions);

}  // namespace penstock::text
