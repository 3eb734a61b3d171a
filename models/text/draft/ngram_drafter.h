#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/text/draft/drafter.h"
#include "models/text/draft/suffix_automaton.h"

namespace penstock::text {

// Drafts what followed the last time that the sequence read as it does now: the longest suffix that
// occurred before is looked up (suffix_automaton.h), and what stood behind that place is proposed.
// A place so near to the end that the draft reaches it goes on with the draft itself, so that a
// sequence that repeats with any period is continued for any length.
class NgramDrafter : public Drafter {
 public:
  // Nothing is drafted from matches shorter than `min_match` (from 1).
  explicit NgramDrafter(size_t min_match);

  void Append(std::span<const TokenId> ids) override;
  std::span<const TokenId> Draft(size_t n) override;  // O(n)

  const SuffixAutomaton& index() const { return index_; }

 private:
  size_t min_match_;
  SuffixAutomaton index_;
  std::vector<TokenId> sequence_;
  std::vector<TokenId> draft_;
};

}  // namespace penstock::text
