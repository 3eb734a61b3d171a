#pragma once

#include <cstddef>
#include <span>

#include "models/text/text_model.h"

namespace penstock::text {

// Guesses how a sequence goes on. A guess costs time when it is wrong and nothing else: what is
// emitted is what would have been emitted without it (generate.h).
//
// Threads: one at a time.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // `ids` follow what was appended before: the prompt first, then what came out of each step.
  virtual void Append(std::span<const TokenId> ids) = 0;
  // Up to n ids that may follow, the next one first; none where nothing is known. Valid until the
  // next call. The same sequence gives the same draft.
  virtual std::span<const TokenId> Draft(size_t n) = 0;
};

}  // namespace penstock::text
