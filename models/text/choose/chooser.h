#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "models/text/sampler.h"
#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::text {

struct Choice {
  TokenId id = 0;
  std::optional<double> log_probability;  // Natural, of the row as it is; where it was asked for.
};

// Decides which id stands at a position. A pure function of (logits, position): the generation loop
// asks for several positions ahead and may drop what it was told.
//
// Threads: one at a time.
class Chooser {
 public:
  virtual ~Chooser() = default;
  // logits [V] for the token that will stand at `position` of the sequence (counted from 0).
  virtual Result<Choice> Choose(std::span<const float> logits, size_t position) = 0;
  // How many ids it can give.
  virtual size_t most() const { return std::numeric_limits<size_t>::max(); }
  // Refuses what cannot work, before any step: the first position that will be asked for, and the
  // number of ids in the vocabulary.
  virtual Status Check(size_t begin, size_t vocab) const {
    (void)begin, (void)vocab;
    return {};
  }
};

// What the sampler chooses. Borrows it.
class SampledIds : public Chooser {
 public:
  explicit SampledIds(Sampler& sampler) : sampler_(sampler) {}
  Result<Choice> Choose(std::span<const float> logits, size_t position) override {
    PENSTOCK_TRY(const TokenId id, sampler_.Sample(logits, position));
    return Choice{id, std::nullopt};
  }

 private:
  Sampler& sampler_;
};

}  // namespace penstock::text
