#include "models/k3/planner.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/options.h"
#include "models/k3/experts/experts.h"
#include "models/k3/layers/activations.h"
#include "models/k3/state/state.h"
#include "models/k3/weights/packed/stripe_decoder.h"
#include "models/k3/weights/resident.h"
#include "models/k3/weights/stream.h"

namespace penstock::k3 {
namespace {

// Eight times the 8 MiB that keep a device busy: a ring of so many held 0.997 of the rate of a
// 7 GB/s source, one of three windows 0.975.
constexpr uint64_t kDefaultRingBytes = 8 * io::kDefaultWindowBytes;

// Threads, their stacks, TBB and the rings of the kernel, which come after the measurement.
constexpr uint64_t kThreadsBytes = 6 * kMiB;

class Planner {
 public:
  Planner(const MemoryNeeds& needs, const PipelineOptions& options, const Catalogue& catalogue,
          const Shape& shape, const Pass& pass, const io::FileSet& files, bool pin_packed)
      : needs_(needs), options_(options), shape_(shape), pass_(pass), files_(files) {
    plan_.pinned_packed = pin_packed;
    plan_.budget_bytes = needs.budget_bytes;
    AddFixed("program and catalogue", needs.process_bytes);
    AddFixed("threads", kThreadsBytes);
    if (needs.image_bytes != 0) AddFixed("image of the files", needs.image_bytes);
    if (needs.decoder_bytes != 0) AddFixed("decoders", needs.decoder_bytes);
    AddFixed("resident vectors", Resident::Bytes(catalogue));
    AddFixed("activations", Activations::Bytes(shape));
    AddFixed(fmt::format("state of {} positions", needs.context),
             StateStore::Bytes(shape, needs.context));
    plan_.slot_bytes = Experts::SlotBytes(
        catalogue, shape, [&](const io::Extent& extent) { return files.RoundedBytes(extent); },
        files.Alignment());
  }

  Result<MemoryPlan> Plan() {
    PENSTOCK_TRY_VOID(PlanPins());
    MeasurePass();
    PlanDecoding();
    PENSTOCK_TRY_VOID(CheckOverrides());
    const uint64_t least = plan_.fixed_bytes + plan_.pinned_bytes + LeastRing() +
                           plan_.decoded_ring_bytes + LeastCache();
    if (least > plan_.budget_bytes) return TooSmall(least);
    ShareRest(plan_.budget_bytes - least);
    plan_.parts.emplace_back("pinned layers", plan_.pinned_bytes);
    plan_.parts.emplace_back("ring", plan_.ring_bytes);
    if (plan_.decoded_ring_bytes != 0) {
      plan_.parts.emplace_back("ring of decoded rows", plan_.decoded_ring_bytes);
    }
    plan_.parts.emplace_back(fmt::format("expert cache, {} experts", plan_.slots),
                             plan_.cache_bytes());
    return plan_;
  }

 private:
  void AddFixed(std::string name, uint64_t bytes) {
    plan_.parts.emplace_back(std::move(name), bytes);
    plan_.fixed_bytes += bytes;
  }

  uint64_t Rounded(const PassExtent& extent) const {
    return RoundUp(files_.RoundedBytes(extent.extent), files_.Alignment());
  }

  // Bytes of an extent that is pinned.
  uint64_t PinnedBytes(uint32_t i) const {
    if (!pass_.packed() || plan_.pinned_packed) return Rounded(pass_.extents()[i]);
    return RoundUp(pass_.RawBytes(i), files_.Alignment());
  }

  // --pin: whole layers from the first on, the head last.
  Status PlanPins() {
    PENSTOCK_TRY(const Pin pin, ParsePin(options_.pin));
    const size_t layers = shape_.layers + 1;
    for (size_t layer = 0; layer < layers; ++layer) {
      uint64_t bytes = 0;
      for (uint32_t i = pass_.FirstExtentOf(layer); i < pass_.FirstExtentOf(layer + 1); ++i) {
        bytes += PinnedBytes(i);
      }
      const bool wanted = pin.layers > layer || plan_.pinned_bytes + bytes <= pin.bytes;
      if (!wanted) break;
      plan_.pinned_bytes += bytes;
      plan_.pinned_extents = pass_.FirstExtentOf(layer + 1);
      plan_.pinned_layers = layer + 1;
    }
    return {};
  }

  // Rows of a pack that are pinned pass through memory as a stripe first. Where stripes are decoded on
  // arrival, the ring for it holds the largest one at least.
  void PlanDecoding() {
    if (!pass_.packed()) return;
    if (!plan_.pinned_packed) {
      for (uint32_t i = 0; i < plan_.pinned_extents; ++i) {
        plan_.staging_bytes = std::max(plan_.staging_bytes, Rounded(pass_.extents()[i]));
      }
      if (plan_.staging_bytes != 0) AddFixed("staging of pins", plan_.staging_bytes);
    }
    if (needs_.decode_nodes == 0) return;
    for (uint32_t i = plan_.pinned_extents; i < pass_.extents().size(); ++i) {
      const uint64_t bytes = RoundUp(pass_.RawBytes(i), kDecodedAlignment);
      plan_.decoded_ring_bytes = std::max(plan_.decoded_ring_bytes, bytes);
      decoded_bytes_ += bytes;
    }
  }

  // What streams: its largest extent and the whole of it, which a ring never needs to exceed.
  void MeasurePass() {
    for (uint32_t i = plan_.pinned_extents; i < pass_.extents().size(); ++i) {
      const uint64_t bytes = Rounded(pass_.extents()[i]);
      plan_.largest_extent = std::max(plan_.largest_extent, bytes);
      streamed_bytes_ += bytes;
    }
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

  uint64_t LeastRing() const {
    if (options_.ring.bytes == 0) return plan_.largest_extent;
    return std::min(options_.ring.bytes, streamed_bytes_);
  }
  uint64_t AllExperts() const {
    uint64_t experts = 0;
    for (size_t layer = 0; layer < shape_.layers; ++layer) {
      if (shape_.IsMoe(layer)) experts += shape_.experts;
    }
    return experts;
  }
  uint64_t LeastSlots() const {
    if (plan_.slot_bytes == 0) return 1;
    if (options_.expert_cache.bytes == 0) return 1;
    return std::min(options_.expert_cache.bytes / plan_.slot_bytes, AllExperts());
  }
  uint64_t LeastCache() const { return LeastSlots() * plan_.slot_bytes; }

  // The ring first, up to what keeps a device busy; then experts.
  void ShareRest(uint64_t rest) {
    plan_.ring_bytes = LeastRing();
    plan_.slots = LeastSlots();
    if (options_.ring.bytes == 0) {
      const uint64_t wanted =
          std::min(std::max(kDefaultRingBytes, 2 * plan_.largest_extent), streamed_bytes_);
      const uint64_t more =
          std::min(rest, wanted > plan_.ring_bytes ? wanted - plan_.ring_bytes : 0);
      plan_.ring_bytes += more / files_.Alignment() * files_.Alignment();
      rest -= more;
    }
    if (needs_.decode_nodes != 0) {
      // One for each thread, one that is used and one that comes next.
      const uint64_t wanted =
          std::min((needs_.decode_nodes + 2) * plan_.decoded_ring_bytes, decoded_bytes_);
      const uint64_t more =
          std::min(rest, wanted > plan_.decoded_ring_bytes ? wanted - plan_.decoded_ring_bytes : 0);
      plan_.decoded_ring_bytes += more / kDecodedAlignment * kDecodedAlignment;
      rest -= more;
    }
    if (options_.expert_cache.bytes == 0 && plan_.slot_bytes != 0) {
      const uint64_t most = std::max<uint64_t>(AllExperts(), 1) - plan_.slots;
      plan_.slots += std::min(rest / plan_.slot_bytes, most);
    }
  }

  Error TooSmall(uint64_t least) const {
    // What the program itself takes differs a little from run to run: the budget that is named works.
    std::string text =
        fmt::format("{} allows {} bytes, and {} are needed at least:", needs_.budget_from,
                    plan_.budget_bytes, RoundUp(least + kMiB, kMiB));
    for (const auto& [name, bytes] : plan_.parts) text += fmt::format(" {} {},", name, bytes);
    if (plan_.pinned_bytes != 0) text += fmt::format(" pinned layers {},", plan_.pinned_bytes);
    if (plan_.decoded_ring_bytes != 0) {
      text += fmt::format(" ring of decoded rows {},", plan_.decoded_ring_bytes);
    }
    text += fmt::format(" ring {}, expert cache {}", LeastRing(), LeastCache());
    return Refused(text);
  }

  const MemoryNeeds& needs_;
  const PipelineOptions& options_;
  const Shape& shape_;
  const Pass& pass_;
  const io::FileSet& files_;
  MemoryPlan plan_;
  uint64_t streamed_bytes_ = 0;
  uint64_t decoded_bytes_ =
      0;  // Of the rows of all that streams, when they are decoded on arrival.
};

}  // namespace

std::string MemoryPlan::Table() const {
  std::string out;
  for (const auto& [name, bytes] : parts) {
    out += fmt::format("  {:<32} {:>12}\n", name, FormatSize({bytes}));
  }
  return out + fmt::format("  {:<32} {:>12}  of {}\n", "total", FormatSize({total_bytes()}),
                           FormatSize({budget_bytes}));
}

Result<MemoryPlan> PlanMemory(const MemoryNeeds& needs, const PipelineOptions& options,
                              const Catalogue& catalogue, const Shape& shape, const Pass& pass,
                              const io::FileSet& files) {
  const auto plan = [&](bool pin_packed) {
    return Planner(needs, options, catalogue, shape, pass, files, pin_packed).Plan();
  };
  if (!pass.packed() || options.pin_format == "raw") return plan(false);
  if (options.pin_format == "packed") return plan(true);
  PENSTOCK_TRY(const Pin pin, ParsePin(options.pin));
  Result<MemoryPlan> raw = plan(false);
  const bool all = raw && (pin.bytes == 0 || raw->pinned_extents == pass.extents().size());
  return all ? std::move(raw) : plan(true);
}

}  // namespace penstock::k3
