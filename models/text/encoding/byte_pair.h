#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/text/encoding/vocabulary.h"

namespace penstock::text {

// Appends the ids of one piece. A piece that is a rank is that rank. Else, from single bytes, the
// adjacent pair whose concatenation has the lowest rank is joined, the leftmost of equals first,
// until no pair is a rank. n log n for a piece of n bytes.
// Source: byte pair encoding by rank, as the tiktoken format implies it.
class BytePairMerger {
 public:
  explicit BytePairMerger(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
  void Append(std::string_view piece, std::vector<TokenId>& ids);

 private:
  struct Part {
    uint32_t begin = 0;  // Byte offset; a part ends where the next begins.
    uint32_t previous = 0;
    uint32_t next = 0;
    bool joined = false;  // Now inside the part before it.
  };
  struct Pair {
    TokenId rank = 0;
    uint32_t left = 0;  // Part index.
    uint32_t end = 0;   // Byte offset behind the right part: tells whether the pair still stands.
  };

  void Offer(uint32_t left);
  void JoinAll();
  uint32_t End(uint32_t part) const { return parts_[parts_[part].next].begin; }

  const Vocabulary& vocabulary_;
  std::string_view piece_;
  std::vector<Part> parts_;  // One per byte and a sentinel.
  std::vector<Pair> heap_;
};

}  // namespace penstock::text
