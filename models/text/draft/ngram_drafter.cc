#include "models/text/draft/ngram_drafter.h"

#include "runtime/check.h"

namespace penstock::text {

NgramDrafter::NgramDrafter(size_t min_match) : min_match_(min_match) {
  PENSTOCK_CHECK(min_match > 0);
}

void NgramDrafter::Append(std::span<const TokenId> ids) {
  for (const TokenId id : ids) index_.Append(id);
  sequence_.insert(sequence_.end(), ids.begin(), ids.end());
}

std::span<const TokenId> NgramDrafter::Draft(size_t n) {
  draft_.clear();
  const SuffixAutomaton::Match match = index_.match();
  if (match.length < min_match_) return {};
  for (size_t at = match.end; draft_.size() < n; ++at) {
    draft_.push_back(at < sequence_.size() ? sequence_[at] : draft_[at - sequence_.size()]);
  }
  return draft_;
}

}  // namespace penstock::text
