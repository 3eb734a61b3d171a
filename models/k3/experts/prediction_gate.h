#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace penstock::k3 {

// Where a prediction comes from.
enum class Source : uint8_t {
  kNext,      // The layer's router, applied to the residual as the layer before has left it.
  kPrevious,  // What the token before chose in this layer.
  kBoth,      // The two lists in one, by what each rank of them was worth so far.
};
inline constexpr size_t kSources = 3;

enum class PredictMode : uint8_t { kOff, kNext, kPrevious, kBoth, kAuto };
// "off", "next", "previous", "both", "auto"; anything else is kOff.
PredictMode ParsePredictMode(std::string_view name);

// What a read ahead costs, measured.
struct AheadTiming {
  double service_seconds = 0;  // Of one expert, by the device alone.
  double window_bytes = 0;     // What the device may be working on when a demand comes.
  double expert_bytes = 0;
};

// Decides which predicted experts are worth reading before they are demanded. Arithmetic alone.
//
// For each source, layer and rank it keeps the precision: how many of the experts at that rank that
// were not in the cache were then chosen. All lists are scored, also those of which nothing was read,
// so that a predictor that has become good is noticed. A candidate is read when
//
//   precision x (its service time, as far as the device would be idle)
//     > (1 - precision) x (the delay it means for demanded reads, which W bounds) + a small overhead
//
// and its precision and that of the layer are above what guessing would give, and what was read for
// nothing stays within a share of all bytes of experts. Where that share is scarce, a price on waste keeps it for the better
// ranks.
// Threads: none; the caller serialises.
class PredictionGate {
 public:
  static constexpr double kMostWaste = 0.08;  // Of the experts' bytes.

  PredictionGate(size_t layers, size_t experts, size_t top_k, PredictMode mode);

  // The lists of one layer of one step, best first; empty where a source has nothing to say. kBoth is
  // made from the other two. `here[expert]` says whether the cache had it.
  void Offer(size_t layer, std::span<const uint32_t> next, std::span<const uint32_t> previous,
             const std::function<bool(uint32_t)>& here);

  // Appends those of the lists last offered for `layer` that should be read now, in this order.
  // `expert_bytes`: what all reads of experts have moved so far, `wasted_bytes` of it for nothing;
  // `pending_bytes` of predictions are not decided yet.
  struct Account {
    double expert_bytes = 0;
    double wasted_bytes = 0;
    double pending_bytes = 0;
  };
  void Choose(size_t layer, const AheadTiming& timing, const Account& account,
              std::vector<uint32_t>& experts);

  // What the layer chose, and how long after Choose (0: unknown) that was known.
  void Score(size_t layer, std::span<const uint32_t> chosen, double seconds);

  // A step has ended.
  void EndStep();

  // Whether the next layer's router is worth applying for this layer: it is read from, or it is due to
  // be looked at again.
  bool WantsNext(size_t layer, uint64_t step) const;

  // Of the experts a layer chooses, the part that the source names; measured lately.
  double recall(Source source, size_t layer) const;
  // Whether there was a list to measure it by.
  bool scored(Source source, size_t layer) const {
    return layers_[layer].recall[static_cast<size_t>(source)].tries > 0;
  }
  double precision(Source source, size_t layer, size_t rank) const;
  // Which source would be read from.
  Source Pick(size_t layer) const;

 private:
  // A mean that forgets.
  struct Rate {
    float hits = 0;
    float tries = 0;
    void Add(size_t more_hits, size_t more_tries, float fades) {
      hits = hits * fades + static_cast<float>(more_hits);
      tries = tries * fades + static_cast<float>(more_tries);
    }
  };
  struct Candidate {
    uint32_t expert = 0;
    bool here = false;
  };
  using List = std::vector<Candidate>;
  struct Layer {
    std::array<List, kSources> lists;
    std::array<std::vector<Rate>, kSources> ranks;  // [top_k]
    std::array<Rate, kSources> recall;
    double idle_seconds = 0;   // From Choose to the layer's own choice.
    bool from_router = false;  // The router had something to say last time.
    bool awake = true;         // Something was worth reading lately.
    uint32_t scored = 0;
  };
  void Merge(Layer& layer, size_t number);
  double Guess() const;  // The precision of a list drawn at random.
  bool Informs(Source source, size_t layer) const;
  bool Informs(Source source, size_t layer, size_t rank) const;

  const size_t experts_;
  const size_t top_k_;
  const PredictMode mode_;
  std::vector<Layer> layers_;
  std::array<std::vector<Rate>, kSources> pool_;  // The same over all layers: [top_k].
  double price_ = 1;                              // Least precision / (1 - precision).
  bool short_of_waste_ = false;                   // In this step.
};

}  // namespace penstock::k3
