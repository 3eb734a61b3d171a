#include "models/text/draft/drafting.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "models/text/draft/ngram_drafter.h"

namespace penstock::text {

Result<std::optional<size_t>> ParseDraftMax(std::string_view text) {
  if (text == "auto") return std::optional<size_t>();
  size_t most = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, most);
  if (error != std::errc() || stop != end) {
    return Refused(fmt::format("--draft-max: expected auto or a number, got \"{}\"", text));
  }
  return std::optional<size_t>(most);
}

Result<std::optional<Drafting>> CreateDrafting(const DraftOptions& options, size_t max_positions) {
  PENSTOCK_TRY(const std::optional<size_t> most, ParseDraftMax(options.draft_max));
  if (options.draft_min_match == 0) {
    return Refused("--draft-min-match: expected at least 1, got 0");
  }
  const size_t possible = max_positions - std::min<size_t>(max_positions, 1);
  const size_t longest = std::min(most.value_or(possible), possible);
  if (longest == 0) return std::optional<Drafting>();
  return std::optional<Drafting>(Drafting{std::make_unique<NgramDrafter>(options.draft_min_match),
                                          DraftEconomics(longest, /*always=*/most.has_value())});
}

}  // namespace penstock::text
