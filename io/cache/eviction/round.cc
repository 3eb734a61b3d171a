#include "io/cache/eviction/round.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/check.h"

namespace penstock::io {
namespace {

constexpr float kFrequencyFades = 0.985f;  // What is left after a round,
constexpr float kMeasureFades = 0.98f;
constexpr float kLeastChance = 1e-4f;
// Until so many uses of a class were measured, its frequency itself is believed more.
constexpr float kPrior = 250;
constexpr float kFirstRounds = 2;

size_t AgeClass(uint64_t rounds, size_t classes) {
  return std::min<size_t>(static_cast<size_t>(std::bit_width(rounds)), classes - 1);
}

// Rounds that an age class is long.
float LengthOf(size_t age_class) {
  return age_class < 2 ? 1 : static_cast<float>(size_t{1} << (age_class - 1));
}

size_t FrequencyClass(float frequency, size_t classes) {
  size_t number = 0;
  while (number + 1 < classes && frequency < 0.5f) {
    frequency *= 2;
    ++number;
  }
  return number;
}

// A class spans frequencies of 1 to 2: what is measured for it belongs to its middle.
float WithinClass(float frequency, size_t number, size_t classes) {
  if (number + 1 == classes) return 1;
  constexpr float kMiddle = 0.7f;
  return std::ldexp(kMiddle, -static_cast<int>(number)) / frequency;
}

}  // namespace

RoundPolicy::RoundPolicy(size_t slots, size_t keys, size_t round)
    : round_(std::max<size_t>(round, 1)), uses_(keys), resident_(slots) {
  Measure();
}

void RoundPolicy::Count(BlockKey key) {
  PENSTOCK_CHECK(key < uses_.size());
  Uses& uses = uses_[key];
  ++now_;
  if (uses.last != 0) {
    // A use may come a little earlier or later in its round than the one before.
    const uint64_t rounds = std::max<uint64_t>((now_ - uses.last + round_ / 2) / round_, 1);
    followed_[uses.frequency_class].again[AgeClass(rounds - 1, kAges)] += 1;
    uses.frequency *= std::pow(kFrequencyFades, static_cast<float>(rounds));
  }
  uses.frequency += 1 - kFrequencyFades;
  // What fades is short of the truth as long as there were few rounds to count in.
  const float rounds = static_cast<float>(now_) / static_cast<float>(round_) + kFirstRounds;
  uses.level = std::min(uses.frequency / (1 - std::pow(kFrequencyFades, rounds)), 1.0f);
  uses.frequency_class = static_cast<uint32_t>(FrequencyClass(uses.level, kFrequencies));
  uses.last = now_;
  followed_[uses.frequency_class].uses += 1;
  if (now_ % round_ == 0) Measure();
}

// The chance of a use in one round, given that there was none in the rounds before it since the last.
void RoundPolicy::Measure() {
  for (size_t f = 0; f < kFrequencies; ++f) {
    Followed& followed = followed_[f];
    const float expected = std::ldexp(1.0f, -static_cast<int>(f) - 1);
    float left = followed.uses;
    for (size_t a = 0; a < kAges; ++a) {
      const float chance = (followed.again[a] + kPrior * expected * LengthOf(a)) /
                           (LengthOf(a) * std::max(left, 0.0f) + kPrior * LengthOf(a));
      rounds_[f][a] = 1 / std::clamp(chance, kLeastChance, 1.0f);
      left -= followed.again[a];
      followed.again[a] *= kMeasureFades;
    }
    followed.uses *= kMeasureFades;
  }
}

BlockSlot RoundPolicy::Victim(const Idle& idle) {
  const float to_rounds = 1 / static_cast<float>(round_);
  BlockSlot victim = static_cast<BlockSlot>(idle.size());
  float latest = -1;
  for (BlockSlot slot = 0; slot < idle.size(); ++slot) {
    if (idle[slot] == 0) continue;
    const Uses& uses = uses_[resident_[slot]];
    float rounds = 1 / kLeastChance + 1;
    if (uses.last != 0) {
      const uint64_t since = now_ - uses.last;
      rounds = rounds_[uses.frequency_class][AgeClass(since / round_, kAges)] *
                   WithinClass(uses.level, uses.frequency_class, kFrequencies) -
               static_cast<float>(since % round_) * to_rounds;
    }
    if (rounds > latest) {
      victim = slot;
      latest = rounds;
    }
  }
  PENSTOCK_CHECK(victim < idle.size());
  return victim;
}

}  // namespace penstock::io
