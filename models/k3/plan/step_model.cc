#include "models/k3/plan/step_model.h"

#include <algorithm>
#include <vector>

#include "models/k3/weights/meeting.h"

namespace penstock::k3 {
namespace {

// Seconds to nanoseconds for `amount` at `rate` a second.
double Ns(double amount, double rate) { return amount / rate * 1e9; }

class Builder {
 public:
  Builder(const WeightBytes& weights, const MemoryPlan& plan, const Shape& shape,
          const MachineRates& rates, const StepSettings& settings)
      : weights_(weights), plan_(plan), shape_(shape), rates_(rates), settings_(settings) {}

  StepModel Build() {
    AddPieces();
    model_.chosen_experts = static_cast<double>(weights_.top_k);
    model_.expert_hits = settings_.expert_hits >= 0 ? std::min(settings_.expert_hits, 1.0)
                                                    : ExpectedHits(weights_, plan_.slots);
    model_.expert_bytes = weights_.expert_bytes;
    model_.expert_ns =
        Ns(static_cast<double>(weights_.expert_bytes), std::min(rates_.mxfp4, rates_.memory)) +
        rates_.message_ns;
    model_.experts_abreast =
        std::clamp(rates_.memory / rates_.mxfp4, 1.0, static_cast<double>(rates_.cores));
    model_.device_rate = rates_.device;
    model_.device_latency_ns = rates_.device_latency_ns;
    model_.window_bytes = settings_.window_bytes;
    model_.read_bytes = settings_.read_bytes;
    model_.ring_bytes = std::max(plan_.ring_bytes, plan_.largest_extent);
    model_.depth = settings_.depth;
    model_.embed_bytes = weights_.embed_row_bytes;
    model_.step_ns = rates_.token_ns;
    return std::move(model_);
  }

 private:
  void AddPieces() {
    size_t pinned = 0;
    model_.pieces.reserve(weights_.pieces.size());
    for (uint32_t i = 0; i < weights_.pieces.size(); ++i) {
      const PieceBytes& bytes = weights_.pieces[i];
      const bool held = pinned < plan_.pinned.size() && plan_.pinned[pinned] == i;
      pinned += held;
      StepModel::Piece piece;
      piece.layer = bytes.layer;
      piece.read_bytes = held ? 0 : bytes.payload;
      piece.ring_bytes = held ? 0 : bytes.buffer;
      piece.compute_ns = ProductNs(bytes, weights_.packed && (!held || plan_.pinned_packed));
      if (i == 0 || weights_.pieces[i - 1].role != bytes.role) piece.serial_ns = StageNs(bytes);
      const bool last =
          i + 1 == weights_.pieces.size() || weights_.pieces[i + 1].role != bytes.role;
      piece.chooses_experts = last && bytes.role == Role::kRouter;
      piece.feeds_experts = last && bytes.role == Role::kLatentDown;
      piece.after_experts = bytes.role == Role::kLatentUp;
      model_.pieces.push_back(piece);
    }
  }

  double Cores() const { return static_cast<double>(rates_.cores); }

  // All cores on the rows of one extent. A core that decodes needs both times.
  double ProductNs(const PieceBytes& bytes, bool decodes) const {
    const double raw = static_cast<double>(bytes.raw);
    double core = 1 / rates_.bf16;
    // The latent attention applies these rows to the query and to what was attended.
    if (bytes.role == Role::kMlaKvB) core *= 2;
    if (decodes) core += 1 / rates_.decode;
    const double messages =
        std::max(1.0, raw / static_cast<double>(kBlockBytes)) * rates_.message_ns / Cores();
    return Ns(raw, std::min(Cores() / core, rates_.memory)) + messages;
  }

  // What must be done before the first rows of a product can be applied.
  double StageNs(const PieceBytes& bytes) const {
    switch (bytes.role) {
      case Role::kKdaDecayA:
      case Role::kMlaQA:
      case Role::kRouter:
      case Role::kDenseGate:
      case Role::kHead:
        return 2 * rates_.stage_ns;  // Combine, mix the residuals, norm.
      case Role::kKdaDecayB:
      case Role::kMlaQB:
      case Role::kSharedDown:
      case Role::kDenseDown:
        return rates_.stage_ns;
      case Role::kKdaOut:
        return rates_.stage_ns + DeltaNs();
      case Role::kMlaKvB:
        return rates_.stage_ns + AttentionNs();
      case Role::kMlaOut:
      case Role::kLatentUp:
        return rates_.stage_ns;
      default:
        return 0;
    }
  }

  double DeltaNs() const {
    const double state =
        static_cast<double>(shape_.kda_heads * shape_.kda_width * shape_.kda_width * sizeof(float));
    return Ns(2 * state, std::min(rates_.state * Cores(), rates_.memory));
  }

  double AttentionNs() const {
    const double latent = static_cast<double>(2 * shape_.kv_rank + shape_.rope);
    const double positions = static_cast<double>(settings_.position / 64 + 1) * 64;  // Whole pages.
    return Ns(static_cast<double>(shape_.mla_heads) * positions * latent,
              rates_.attention * Cores());
  }

  const WeightBytes& weights_;
  const MemoryPlan& plan_;
  const Shape& shape_;
  const MachineRates& rates_;
  const StepSettings& settings_;
  StepModel model_;
};

}  // namespace

double ExpectedHits(const WeightBytes& weights, uint64_t slots) {
  if (weights.all_experts() == 0) return 0;
  // Fewer slots than one token chooses: each is used again before it comes back.
  if (slots < weights.chosen_experts()) return 0;
  return std::min(1.0, static_cast<double>(slots) / static_cast<double>(weights.all_experts()));
}

StepModel MakeStepModel(const WeightBytes& weights, const MemoryPlan& plan, const Shape& shape,
                        const MachineRates& rates, const StepSettings& settings) {
  return Builder(weights, plan, shape, rates, settings).Build();
}

}  // namespace penstock::k3
