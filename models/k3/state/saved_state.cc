#include "models/k3/state/saved_state.h"

#include <utility>

#include <fmt/format.h>

#include "models/k3/state/fold.h"
#include "runtime/check.h"

namespace penstock::k3 {
namespace {

StateShape ShapeOfStore(const StateStore& store) {
  const KdaLayout& layout = store.kda_layout();
  return {store.kda_layers(), layout.heads,       layout.width,
          layout.taps,        store.mla_layers(), store.page_width()};
}

// Of a store's own shape and a position within its context: nothing overflows.
uint64_t PayloadBytes(const StateStore& store, uint64_t position) {
  return store.kda_layers() * store.kda_layout().bytes() +
         store.mla_layers() * position * store.page_width() * sizeof(float);
}

std::string DescribeShape(const StateShape& shape) {
  return fmt::format("{} KDA layers of {} heads of {} with {} taps, {} MLA layers of {}",
                     shape.kda_layers, shape.kda_heads, shape.kda_width, shape.conv_taps,
                     shape.mla_layers, shape.page_width);
}

Status ReadFloats(io::SealedReader& reader, float* into, size_t count) {
  return reader.Read(std::as_writable_bytes(std::span(into, count)));
}

}  // namespace

Result<uint64_t> SaveState(const std::string& path, const StateOwner& owner,
                           const SavedSequence& sequence, const SequenceState& version,
                           const ops::Kernels& kernels, std::span<const KdaTaps> taps) {
  const StateStore& store = *version.log->store;
  const size_t position = version.position();
  PENSTOCK_CHECK(position > 0 && position <= sequence.ids.size());
  PENSTOCK_CHECK(sequence.prompt > 0 && sequence.prompt <= sequence.ids.size());
  const std::string facts = FormatFacts({owner, ShapeOfStore(store), position, sequence});
  if (facts.size() > kMostStateFacts) {
    return Failed(fmt::format("{}: the state's facts take {} bytes, expected at most {}", path,
                              facts.size(), kMostStateFacts));
  }
  PENSTOCK_TRY(io::SealedWriter writer, io::SealedWriter::Create(path, kSavedStateKind, facts,
                                                                 PayloadBytes(store, position)));
  PENSTOCK_TRY_VOID(ForEachPart(version, kernels, taps, [&writer](std::span<const std::byte> part) {
    return writer.Append(part);
  }));
  return writer.Seal();
}

Result<SavedState> SavedState::Open(const std::string& path) {
  PENSTOCK_TRY(io::SealedReader reader, io::SealedReader::Open(path, kSavedStateKind));
  PENSTOCK_TRY(SavedFacts facts, ParseFacts(reader.facts(), path));
  return SavedState(path, std::move(reader), std::move(facts));
}

Status SavedState::CheckOwner(const StateOwner& owner) const {
  if (facts_.owner.config != owner.config) {
    return Refused(
        fmt::format("{}: is a state of a model of another config: expected one of {}, got one of "
                    "{}",
                    path_, owner.config, facts_.owner.config));
  }
  if (facts_.owner.checkpoint_id != owner.checkpoint_id) {
    return Refused(
        fmt::format("{}: is a state of another checkpoint: expected one of {}, got one of {}",
                    path_, owner.checkpoint_id, facts_.owner.checkpoint_id));
  }
  return {};
}

Status SavedState::CheckSizes(const StateStore& store) const {
  if (const StateShape shape = ShapeOfStore(store); facts_.shape != shape) {
    return Refused(fmt::format("{}: expected a state of {}, got one of {}", path_,
                               DescribeShape(shape), DescribeShape(facts_.shape)));
  }
  if (facts_.position > store.context()) {
    return Refused(fmt::format("{}: has {} positions, more than the context of {}", path_,
                               facts_.position, store.context()));
  }
  const uint64_t expected = PayloadBytes(store, facts_.position);
  if (reader_.payload_bytes() != expected) {
    return Refused(fmt::format("{}: expected {} bytes of state at position {}, got {}", path_,
                               expected, facts_.position, reader_.payload_bytes()));
  }
  return {};
}

Result<std::shared_ptr<const SequenceState>> SavedState::Load(const StateOwner& owner,
                                                              StateStore& store) {
  PENSTOCK_TRY_VOID(CheckOwner(owner));
  PENSTOCK_TRY_VOID(CheckSizes(store));
  PENSTOCK_TRY(auto version, store.Restore(facts_.position));
  const KdaLayout& layout = store.kda_layout();
  for (const std::shared_ptr<KdaBase>& base : version->log->bases) {
    for (size_t head = 0; head < layout.heads; ++head) {
      PENSTOCK_TRY_VOID(ReadFloats(reader_, base->head(layout, head), layout.head_floats()));
    }
  }
  for (const auto& pages : version->log->pages) {
    for (const std::shared_ptr<LatentPage>& page : pages) {
      PENSTOCK_TRY_VOID(ReadFloats(reader_, page->rows(), page->filled * store.page_width()));
    }
  }
  return version;
}

}  // namespace penstock::k3
