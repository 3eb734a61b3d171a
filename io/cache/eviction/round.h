#pragma once

#include <array>
#include <vector>

#include "io/cache/eviction/policy.h"

namespace penstock::io {

// For keys that come in rounds: each can be asked for once a round, always at about the same point
// of it. Evicts the block whose next use is expected latest,
//
//   time to its point of the round + 1 / p - 1 rounds.
//
// p, the chance that a round asks for it, depends on how often the key was wanted (a sum that fades
// with the rounds) and on how many rounds ago it was wanted last. The policy measures it: of the times
// that a key of this frequency was wanted, how many were followed by another use after so many rounds.
// Routes that repeat and routes that do not thus get what suits them. Among blocks of one chance the
// one just used goes, which is what an optimal cache does with a scan that does not fit. Keys that
// have left are remembered, too: 24 bytes a key.
class RoundPolicy final : public EvictionPolicy {
 public:
  // `keys`: every key is below. `round`: requests in a round.
  RoundPolicy(size_t slots, size_t keys, size_t round);

  void Hit(BlockKey key, BlockSlot) override { Count(key); }
  void Miss(BlockKey key) override { Count(key); }
  void Insert(BlockKey key, BlockSlot slot) override { resident_[slot] = key; }
  void Remove(BlockKey, BlockSlot) override {}
  BlockSlot Victim(const Idle& idle) override;
  const char* name() const override { return "round"; }

 private:
  static constexpr size_t kFrequencies = 8;  // Classes, each twice as frequent as the next.
  static constexpr size_t kAges = 8;         // Classes of rounds: 0, 1, 2-3, 4-7, ...
  struct Uses {
    uint64_t last = 0;    // Request number of the last use; 0: none.
    float frequency = 0;  // Uses a round, as of then: what is left of a sum that fades,
    float level = 0;      // and what it says.
    uint32_t frequency_class = 0;
  };
  // What followed uses of keys of one frequency. Fades.
  struct Followed {
    float uses = 0;
    std::array<float, kAges> again{};  // By rounds until the next use.
  };

  void Count(BlockKey key);
  void Measure();

  const uint64_t round_;
  std::vector<Uses> uses_;  // [keys]
  std::vector<BlockKey> resident_;
  std::array<Followed, kFrequencies> followed_;
  std::array<std::array<float, kAges>, kFrequencies> rounds_;  // 1 / p
  uint64_t now_ = 0;
};

}  // namespace penstock::io
