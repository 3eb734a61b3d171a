#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/text/text_model.h"

namespace penstock::text {

// The suffix automaton of a growing sequence of ids (Blumer et al., "The smallest automaton
// recognizing the subwords of a text", 1985): after each id it knows the longest suffix that has
// occurred before, however long, and where.
//
// Cost: O(1) amortised for an id, in expectation over the hash of transitions; operations() counts
// it: 12 to 16 on text, 28 on random bits. Memory: at most 2 states of 16 bytes and 3 transitions of
// 16 bytes for an id, with 8 to 16 bytes of hash table each: 85 bytes an id on text and on noise,
// 118 on random bits, 128 at most, and what vectors reserve beyond. A table of all grams up to a
// bounded length would take as much from a length of 8 on, and find no longer match.
//
// Of several places where the longest suffix ended, the one reported is the latest at which it, or
// one of the few next longer repeated strings that end with it, was the longest match too: always
// a place where the whole suffix stands, and the latest one unless it was hidden in a much longer
// repetition. (To know the latest exactly costs a walk over all shorter suffixes for each id.)
class SuffixAutomaton {
 public:
  SuffixAutomaton();

  // At most 2^30 ids.
  void Append(TokenId id);

  size_t size() const { return size_; }
  // The longest suffix of the sequence that also ends at an earlier position; they may overlap.
  struct Match {
    size_t length = 0;  // 0: the last id is new.
    size_t end = 0;     // Position behind the earlier occurrence, below size().
  };
  Match match() const { return match_; }

  // Loop iterations so far: what the cost is, without a clock.
  uint64_t operations() const { return operations_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct State {
    uint32_t length = 0;    // Of its longest string.
    uint32_t link = kNone;  // The state of the longest suffix that occurs elsewhere too.
    uint32_t end = 0;       // Behind an occurrence of its strings.
    uint32_t edges = kNone;
  };
  struct Edge {
    uint32_t from;
    TokenId id;
    uint32_t to;
    uint32_t next;  // Of the same state.
  };
  uint32_t AddState(State state);
  void AddEdge(uint32_t from, TokenId id, uint32_t to);
  uint32_t* Follow(uint32_t from, TokenId id);  // Null where there is no transition.
  uint32_t Clone(uint32_t state, uint32_t length);
  size_t Slot(uint32_t from, TokenId id);  // The transition's, or the free one where it belongs.
  void Grow();
  void Refresh(uint32_t state);

  size_t size_ = 0;
  Match match_;
  uint32_t last_ = 0;  // The state of the whole sequence.
  std::vector<State> states_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> slots_;  // Open addressing, at most half full; indices of edges_.
  uint64_t operations_ = 0;
};

}  // namespace penstock::text
