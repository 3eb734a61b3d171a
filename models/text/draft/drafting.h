#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "models/text/draft/drafter.h"
#include "models/text/draft/economics.h"

namespace penstock::text {

// A draft must be verified in one step, whose state is kept for each of its positions.
inline constexpr size_t kMostDrafted = 1023;

struct DraftOptions {
  std::optional<size_t> draft_max = std::nullopt;  // None: as many as pay.
  size_t draft_min_match = 2;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("draft-max", self.draft_max, "ids", size_t{0}, kMostDrafted,
      "Ids guessed ahead and verified in one step, from what the text repeats; 0: none. auto: as "
      "many as measurements say that it pays, up to 7. Changes time alone.");
    v("draft-min-match", self.draft_min_match, "tokens", size_t{1}, size_t{1} << 20,
      "The shortest repetition from which ids are guessed.");
  }
};

// Positions of a step that takes the longest draft that is wanted, and the token before it.
size_t PositionsFor(const DraftOptions& options);

// Who guesses, and how many ids.
struct Drafting {
  std::unique_ptr<Drafter> drafter;
  DraftEconomics economics;
};

// As the options say, for a model whose steps take `max_positions`: drafts are at most one shorter.
// Nothing where there is nothing to draft (0, or steps of one position).
std::optional<Drafting> CreateDrafting(const DraftOptions& options, size_t max_positions);

}  // namespace penstock::text
