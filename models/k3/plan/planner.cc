#include "models/k3/plan/planner.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/options.h"
#include "models/k3/layers/activations.h"
#include "models/k3/plan/preset.h"
#include "models/k3/state/state.h"
#include "models/k3/weights/packed/stripe_decoder.h"

namespace penstock::k3 {
namespace {

static_assert(kWantedRingBytes == 8 * io::kDefaultWindowBytes);

// Threads, their stacks, TBB and the rings of the kernel, which come after the measurement.
constexpr uint64_t kThreadsBytes = 6 * kMiB;

// While a pinned layer is computed the device reads ahead. A ring of a layer is enough for every
// rate; it is worth at most this share of what is pinned.
constexpr uint64_t kRingShareOfPins = 8;
constexpr uint64_t kAmpleRingBytes = 512 * kMiB;
constexpr uint64_t kAmpleRingShare = 16;  // Of the budget.

// The bytes of one layer, or of the head.
struct LayerBytes {
  uint64_t pinned = 0;   // When it is pinned,
  uint64_t payload = 0;  // and what a step then reads less.
  uint64_t streamed = 0;
  uint64_t largest = 0;          // Of its reads.
  uint64_t decoded = 0;          // Its rows, each extent rounded for the ring of decoded rows,
  uint64_t largest_decoded = 0;  // and the largest of them.
};

// What follows from pinning a number of layers.
struct Pins {
  size_t count = 0;
  LayerBytes held;      // Sums and maxima over the layers that are pinned
  LayerBytes streamed;  // and those that are not.
};

void Add(const LayerBytes& layer, LayerBytes& sum) {
  sum.pinned += layer.pinned;
  sum.payload += layer.payload;
  sum.streamed += layer.streamed;
  sum.decoded += layer.decoded;
  sum.largest = std::max(sum.largest, layer.largest);
  sum.largest_decoded = std::max(sum.largest_decoded, layer.largest_decoded);
}

class Planner {
 public:
  Planner(const MemoryNeeds& needs, const PipelineOptions& options, const WeightBytes& weights,
          const Shape& shape, bool pin_packed)
      : needs_(needs),
        options_(options),
        weights_(weights),
        shape_(shape),
        frugal_(FindPreset(options.preset).frugal) {
    plan_.pinned_packed = pin_packed;
    plan_.budget_bytes = needs.budget_bytes;
    plan_.slot_bytes = weights.slot_bytes;
    AddFixed("program and catalogue", needs.process_bytes);
    AddFixed("threads", kThreadsBytes);
    if (needs.image_bytes != 0) AddFixed("image of the files", needs.image_bytes);
    if (needs.decoder_bytes != 0) AddFixed("decoders", needs.decoder_bytes);
    AddFixed("resident vectors", weights.resident_bytes);
    for (size_t layer = 0; layer + 1 < weights.layer_first.size(); ++layer) MeasureLayer(layer);
  }

  Result<MemoryPlan> Plan() {
    PENSTOCK_TRY(const Pin pin, ParsePin(options_.pin));
    const Pins pins =
        pin.automatic ? Spread(0) : Asked(pin);  // None are pinned for want of others.
    const uint64_t others = plan_.fixed_bytes;
    ChoosePositions(LeastBeside(pins), WantedBeside(pins));
    AddPositions();
    pins_ = pin.automatic ? MostThatPay() : pins;
    TakePins();
    PENSTOCK_TRY_VOID(CheckOverrides());
    plan_.least_bytes = others + LeastStepBytes() + LeastBeside(pins_);
    plan_.overlap_bytes =
        others + StepBytes(needs_.positions, LeastRead(needs_.positions)) + WantedBeside(pins_);
    if (plan_.least_bytes > plan_.budget_bytes) return TooSmall();
    plan_.decoded_ring_bytes = LeastDecodedRing(pins_);
    ShareRest(plan_.budget_bytes - plan_.fixed_bytes - plan_.pinned_bytes - LeastRing(pins_) -
              plan_.decoded_ring_bytes - LeastSlots() * plan_.slot_bytes);
    NameParts();
    return std::move(plan_);
  }

 private:
  void AddFixed(std::string name, uint64_t bytes) {
    plan_.parts.emplace_back(std::move(name), bytes);
    plan_.fixed_bytes += bytes;
  }

  // What a step of so many positions works in, and what it leaves.
  uint64_t ActivationBytes(size_t positions, size_t read) const {
    return Activations::Bytes(shape_, read, positions) + read * needs_.embed_row_bytes;
  }
  uint64_t StateBytes(size_t positions, size_t read) const {
    return StateStore::Bytes(shape_, needs_.context, positions, read);
  }
  uint64_t StepBytes(size_t positions, size_t read) const {
    return ActivationBytes(positions, read) + StateBytes(positions, read);
  }
  // The smallest chunk that a choice may come to.
  size_t LeastRead(size_t positions) const { return std::max(positions, needs_.read_positions); }
  uint64_t LeastStepBytes() const {
    const size_t positions = needs_.fewer_positions ? 1 : needs_.positions;
    return StepBytes(positions, LeastRead(positions));
  }

  // `least`, `wanted`: what there must be beside the step's own memory, and what there should be.
  void ChoosePositions(uint64_t least, uint64_t wanted) {
    const auto fits = [&](size_t positions, size_t read, uint64_t beside) {
      return plan_.fixed_bytes + StepBytes(positions, read) + beside <= needs_.budget_bytes;
    };
    size_t positions = needs_.positions;
    if (needs_.fewer_positions) {
      while (positions > 1 && !fits(positions, LeastRead(positions), least)) --positions;
    }
    size_t read = LeastRead(positions);
    if (needs_.read_positions == 0 && !frugal_) {
      const uint64_t most_bytes = StepBytes(positions, read) + needs_.budget_bytes / kReadShare;
      size_t more = std::min<uint64_t>(needs_.prompt_positions, kMostReadPositions);
      while (more > read &&
             (!fits(positions, more, wanted) || StepBytes(positions, more) > most_bytes)) {
        --more;
      }
      read = std::max(read, more);
    }
    plan_.positions = positions;
    plan_.read_positions = read;
  }

  void AddPositions() {
    const size_t read = plan_.read_positions;
    AddFixed(fmt::format("activations of {} positions", read),
             ActivationBytes(plan_.positions, read));
    AddFixed(fmt::format("state of {} positions", needs_.context),
             StateBytes(plan_.positions, read));
  }

  // Ring, experts and pins.
  uint64_t LeastBeside(const Pins& pins) const {
    return pins.held.pinned + Staging(pins) + LeastRing(pins) + LeastDecodedRing(pins) +
           LeastSlots() * plan_.slot_bytes;
  }
  uint64_t WantedBeside(const Pins& pins) const {
    return pins.held.pinned + Staging(pins) + WantedRing(pins) + WantedDecodedRing(pins) +
           WantedSlots() * plan_.slot_bytes;
  }

  void MeasureLayer(size_t layer) {
    LayerBytes bytes;
    for (uint32_t i = weights_.layer_first[layer]; i < weights_.layer_first[layer + 1]; ++i) {
      const PieceBytes& piece = weights_.pieces[i];
      const bool decoded = weights_.packed && !plan_.pinned_packed;
      const uint64_t rows = RoundUp(piece.raw, kDecodedAlignment);
      bytes.pinned += decoded ? RoundUp(piece.raw, weights_.alignment) : piece.buffer;
      bytes.payload += piece.payload;
      bytes.streamed += piece.buffer;
      bytes.largest = std::max(bytes.largest, piece.buffer);
      bytes.decoded += rows;
      bytes.largest_decoded = std::max(bytes.largest_decoded, rows);
    }
    layers_.push_back(bytes);
  }

  Pins Spread(size_t count) const {
    Pins pins;
    pins.count = count;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      Add(layers_[layer], SpreadContains(layer, count, layers_.size()) ? pins.held : pins.streamed);
    }
    return pins;
  }

  // What --pin N or SIZE asks for.
  Pins Asked(const Pin& pin) const {
    if (pin.layers != 0) return Spread(std::min<size_t>(pin.layers, layers_.size()));
    size_t count = layers_.size();
    while (count > 0 && Spread(count).held.pinned > pin.bytes) --count;
    return Spread(count);
  }

  // As many as leave room for all that is wanted besides.
  Pins MostThatPay() const {
    size_t count = frugal_ ? 0 : layers_.size();
    for (; count > 0; --count) {
      const Pins pins = Spread(count);
      if (plan_.fixed_bytes + WantedBeside(pins) <= plan_.budget_bytes) return pins;
    }
    return Spread(0);
  }

  void TakePins() {
    plan_.pinned_layers = pins_.count;
    plan_.pinned_bytes = pins_.held.pinned;
    plan_.pinned_payload = pins_.held.payload;
    plan_.largest_extent = pins_.streamed.largest;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      if (!SpreadContains(layer, pins_.count, layers_.size())) continue;
      for (uint32_t i = weights_.layer_first[layer]; i < weights_.layer_first[layer + 1]; ++i) {
        plan_.pinned.push_back(i);
      }
    }
    plan_.staging_bytes = Staging(pins_);
    if (plan_.staging_bytes != 0) AddFixed("staging of pins", plan_.staging_bytes);
  }

  // Rows of a pack that are pinned pass through memory as a stripe first.
  uint64_t Staging(const Pins& pins) const {
    return weights_.packed && !plan_.pinned_packed ? pins.held.largest : 0;
  }

  Status CheckOverrides() const {
    if (options_.ring.bytes != 0 && options_.ring.bytes < plan_.largest_extent) {
      return Refused(fmt::format(
          "--ring {} is smaller than the largest extent: expected at least {} bytes, got {}",
          FormatSize({options_.ring.bytes}), plan_.largest_extent, options_.ring.bytes));
    }
    if (options_.expert_cache.bytes != 0 && options_.expert_cache.bytes < plan_.slot_bytes) {
      return Refused(fmt::format(
          "--expert-cache {} is smaller than one expert: expected at least {} bytes, got {}",
          FormatSize({options_.expert_cache.bytes}), plan_.slot_bytes,
          options_.expert_cache.bytes));
    }
    return {};
  }

  uint64_t LeastRing(const Pins& pins) const {
    if (options_.ring.bytes == 0) return pins.streamed.largest;
    return std::min(options_.ring.bytes, pins.streamed.streamed);
  }

  uint64_t WantedRing(const Pins& pins) const {
    if (frugal_ || options_.ring.bytes != 0) return LeastRing(pins);
    const uint64_t all = pins.streamed.streamed;
    uint64_t wanted = std::max(kWantedRingBytes, 2 * pins.streamed.largest);
    const size_t streamed_layers = layers_.size() - pins.count;
    if (streamed_layers != 0) {
      wanted += std::min(all / streamed_layers, pins.held.pinned / kRingShareOfPins);
    }
    return std::min(wanted, all);
  }

  // What the experts and the attention take without reading trunk, the device can read ahead, if there
  // is memory that pins do not want: io = compute overlaps 0.91 with 64 MiB and 0.94 with 512 MiB
  // (penstock bench token --ioengine memory --pin 0, at 28 GB/s).
  uint64_t AmpleRing(const Pins& pins) const {
    const uint64_t wanted = WantedRing(pins);
    if (frugal_ || options_.ring.bytes != 0) return wanted;
    const uint64_t ample = std::min(kAmpleRingBytes, plan_.budget_bytes / kAmpleRingShare);
    return std::min(std::max(wanted, ample), pins.streamed.streamed);
  }

  // Where stripes are decoded on arrival, the ring for it holds the largest one at least.
  uint64_t LeastDecodedRing(const Pins& pins) const {
    return weights_.packed && needs_.decode_nodes != 0 ? pins.streamed.largest_decoded : 0;
  }

  // One for each thread, one that is used and one that comes next.
  uint64_t WantedDecodedRing(const Pins& pins) const {
    return std::min((needs_.decode_nodes + 2) * LeastDecodedRing(pins), pins.streamed.decoded);
  }

  uint64_t LeastSlots() const {
    if (plan_.slot_bytes == 0 || options_.expert_cache.bytes == 0) return 1;
    return std::min(options_.expert_cache.bytes / plan_.slot_bytes, weights_.all_experts());
  }

  // The experts of a layer: more of them only save reads.
  uint64_t WantedSlots() const {
    if (frugal_ || options_.expert_cache.bytes != 0) return LeastSlots();
    return std::max<uint64_t>(1, std::min(weights_.top_k, weights_.all_experts()));
  }

  // What keeps the device busy first, and the experts of a layer; then a larger ring, then experts.
  void ShareRest(uint64_t rest) {
    const auto grow = [&](uint64_t& part, uint64_t wanted, uint64_t unit) {
      const uint64_t more = std::min(rest, wanted - std::min(wanted, part)) / unit * unit;
      part += more;
      rest -= more;
    };
    plan_.ring_bytes = LeastRing(pins_);
    plan_.slots = LeastSlots();
    grow(plan_.ring_bytes, WantedRing(pins_), weights_.alignment);
    grow(plan_.decoded_ring_bytes, WantedDecodedRing(pins_), kDecodedAlignment);
    const uint64_t first_experts =
        (WantedSlots() - std::min(WantedSlots(), plan_.slots)) * plan_.slot_bytes;
    if (first_experts <= rest) {
      rest -= first_experts;
      grow(plan_.ring_bytes, AmpleRing(pins_), weights_.alignment);
      rest += first_experts;
    }
    if (frugal_ || options_.expert_cache.bytes != 0 || plan_.slot_bytes == 0) return;
    const uint64_t most = std::max<uint64_t>(weights_.all_experts(), 1) - plan_.slots;
    plan_.slots += std::min(rest / plan_.slot_bytes, most);
  }

  void NameParts() {
    plan_.parts.emplace_back(fmt::format("{} pinned layers", plan_.pinned_layers),
                             plan_.pinned_bytes);
    plan_.parts.emplace_back("ring", plan_.ring_bytes);
    if (plan_.decoded_ring_bytes != 0) {
      plan_.parts.emplace_back("ring of decoded rows", plan_.decoded_ring_bytes);
    }
    plan_.parts.emplace_back(fmt::format("expert cache, {} experts", plan_.slots),
                             plan_.cache_bytes());
  }

  Error TooSmall() const {
    // What the program itself takes differs a little from run to run: the budget that is named works.
    std::string text =
        fmt::format("{} allows {} bytes, and {} are needed at least:", needs_.budget_from,
                    plan_.budget_bytes, RoundUp(plan_.least_bytes + kMiB, kMiB));
    for (const auto& [name, bytes] : plan_.parts) text += fmt::format(" {} {},", name, bytes);
    if (plan_.pinned_bytes != 0) text += fmt::format(" pinned layers {},", plan_.pinned_bytes);
    if (const uint64_t decoded = LeastDecodedRing(pins_); decoded != 0) {
      text += fmt::format(" ring of decoded rows {},", decoded);
    }
    text +=
        fmt::format(" ring {}, expert cache {}", LeastRing(pins_), LeastSlots() * plan_.slot_bytes);
    return Refused(text);
  }

  const MemoryNeeds& needs_;
  const PipelineOptions& options_;
  const WeightBytes& weights_;
  const Shape& shape_;
  const bool frugal_;
  std::vector<LayerBytes> layers_;  // The head is the last.
  Pins pins_;
  MemoryPlan plan_;
};

}  // namespace

bool SpreadContains(size_t layer, size_t count, size_t layers) {
  return (layer + 1) * count / layers != layer * count / layers;
}

std::string MemoryPlan::Table() const {
  std::string out;
  for (const auto& [name, bytes] : parts) {
    out += fmt::format("  {:<32} {:>18}  {:>9}\n", name, bytes, DescribeSize(bytes));
  }
  return out + fmt::format("  {:<32} {:>18}  {:>9}  of {}\n", "total", total_bytes(),
                           DescribeSize(total_bytes()), DescribeSize(budget_bytes));
}

Result<MemoryPlan> PlanMemory(const MemoryNeeds& needs, const PipelineOptions& options,
                              const WeightBytes& weights, const Shape& shape) {
  const auto plan = [&](bool pin_packed) {
    return Planner(needs, options, weights, shape, pin_packed).Plan();
  };
  if (!weights.packed || options.pin_format == "raw") return plan(false);
  if (options.pin_format == "packed") return plan(true);
  PENSTOCK_TRY(const Pin pin, ParsePin(options.pin));
  Result<MemoryPlan> raw = plan(false);
  const bool all = raw && (pin.layers != 0 || raw->pinned.size() == weights.pieces.size() ||
                           (!pin.automatic && pin.bytes == 0));
  return all ? std::move(raw) : plan(true);
}

}  // namespace penstock::k3
