#include "models/text/draft/drafting.h"

#include <algorithm>

#include "models/text/draft/ngram_drafter.h"
#include "runtime/check.h"

namespace penstock::text {

namespace {

constexpr size_t kAutoDrafted = 7;

}  // namespace

size_t PositionsFor(const DraftOptions& options) {
  return 1 + options.draft_max.value_or(kAutoDrafted);
}

std::optional<Drafting> CreateDrafting(const DraftOptions& options, size_t max_positions) {
  PENSTOCK_CHECK(options.draft_min_match > 0);
  const size_t positions = std::min(PositionsFor(options), max_positions);
  if (positions <= 1) return std::nullopt;
  return Drafting{std::make_unique<NgramDrafter>(options.draft_min_match),
                  DraftEconomics(positions - 1, /*always=*/options.draft_max.has_value())};
}

}  // namespace penstock::text
