#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::text {

// How the next token is chosen, with the names of llama.cpp. The filters are off by default: what
// is not asked for does not happen.
struct SamplerOptions {
  static constexpr double kMaxTemp = 1000;

  double temp = 0;
  uint32_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  uint64_t seed = 0;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("temp", self.temp, "", 0.0, kMaxTemp, "Temperature; 0 takes the most likely token.");
    v("top-k", self.top_k, "tokens", 0u, std::numeric_limits<uint32_t>::max(),
      "Keep the k most likely tokens; 0 keeps all.");
    v("top-p", self.top_p, "", 0.0, 1.0,
      "Keep the most likely tokens that together reach this probability; 1 keeps all.");
    v("min-p", self.min_p, "", 0.0, 1.0,
      "Keep tokens at least this probable relative to the most likely one; 0 keeps all.");
    v("seed", self.seed, "", uint64_t{0}, std::numeric_limits<uint64_t>::max(),
      "Seed of the random numbers; a run is repeated by its seed.");
  }
};

// Chooses a token from a row of logits. A pure function of (options, logits, position): the random
// number belongs to the position, not to a stream, so that drafts, prompt chunks and resumed runs
// cannot move it.
//
// With temp 0 the largest logit wins. Otherwise, in this order (llama.cpp's default chain):
//   top-k   the k largest logits stay
//   top-p   of these, the fewest largest whose softmax (of what top-k left) sums to >= p stay; the
//           token that crosses p stays too, and at least one does
//   min-p   tokens with probability < min_p x that of the largest drop
//   temp    softmax of (logit - largest) / temp over what is left, and one draw
// Everything is ordered by (logit descending, id ascending): equal logits go to the lower id, and
// every sum runs in that order. Logits are f32, all arithmetic is double without contraction, exp
// is SamplerExp: the same choice on every machine.
//
// Threads: one at a time (scratch inside).
class Sampler {
 public:
  // kRefused for an option out of its range.
  static Result<Sampler> Create(const SamplerOptions& options);

  // logits [V] for the token that will stand at `position` of the sequence (counted from 0).
  // kUnsound when a logit is not finite, naming the first such id.
  Result<TokenId> Sample(std::span<const float> logits, size_t position);

  const SamplerOptions& options() const { return options_; }

 private:
  struct Candidate {
    double logit = 0;
    double weight = 0;  // exp of the difference to the largest, for Draw divided by temp.
    TokenId id = 0;
  };
  explicit Sampler(const SamplerOptions& options) : options_(options) {}
  void RankCandidates(std::span<const float> logits);
  void KeepTopP();
  void KeepMinP();
  TokenId Draw(size_t position);

  SamplerOptions options_;
  std::vector<Candidate> candidates_;
};

// The largest logit's id, the lowest of equals. kUnsound when one is not finite.
Result<TokenId> ArgMax(std::span<const float> logits);

// exp(x) for x <= 0 in double from additions and multiplications only, within 1e-15 relative of
// the true value; 0 below -708 (where the result would leave the normal numbers), 1 at 0.
double SamplerExp(double x);

// The number in [0, 1), a multiple of 2^-53, that belongs to (seed, position).
double SamplerUniform(uint64_t seed, uint64_t position);

}  // namespace penstock::text
