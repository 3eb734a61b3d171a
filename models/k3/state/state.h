#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "models/k3/config/shape.h"
#include "models/k3/state/kda_layout.h"
#include "models/text/text_model.h"
#include "runtime/memory/block_pool.h"
#include "runtime/memory/buffer.h"
#include "runtime/memory/region.h"
#include "runtime/result.h"

namespace penstock::k3 {

class StateStore;

// 64 positions of one MLA layer's cache, [64][kv_rank + rope] f32, appended to and never changed:
// rows below `filled` are immutable. Whoever moves `filled` from n to m owns rows n to m - 1.
struct LatentPage {
  explicit LatentPage(MutableBuffer memory) : buffer(std::move(memory)) {}
  float* rows() const { return reinterpret_cast<float*>(buffer.data()); }

  MutableBuffer buffer;
  size_t filled = 0;  // Guarded by the store.
};

// What one KDA layer remembers at a position, head by head as KdaLayout says. Heads advance apart,
// so that a step which ends in the middle of a layer leaves each at a position of its own.
struct KdaBase {
  float* head(const KdaLayout& layout, size_t index) const {
    return reinterpret_cast<float*>(memory.data()) + index * layout.head_floats();
  }
  bool IsAt(size_t position) const;

  MutableBuffer memory;
  std::vector<size_t> positions;  // [heads]
};

// What one step has added to a sequence: per KDA layer the base that its entries continue, and an
// entry for each of its positions; per MLA layer all pages up to its end. Shared by the versions
// after its positions, and by nobody else. A folded one has no entries and one version, the last:
// its bases are at its end.
struct StepLog {
  StepLog(std::shared_ptr<StateStore> memory, size_t first_position, size_t count, bool fold);
  MutableBuffer& entry(size_t layer, size_t t) { return entries[layer * positions + t]; }
  const MutableBuffer& entry(size_t layer, size_t t) const {
    return entries[layer * positions + t];
  }

  std::shared_ptr<StateStore> store;  // First: what the memory goes back to.
  const size_t first;                 // Its first position,
  const size_t positions;             // and how many.
  const bool folded;
  std::vector<std::shared_ptr<KdaBase>> bases;  // [kda layers]; null: zeros, nothing was consumed
  std::vector<MutableBuffer> entries;           // [kda layers][positions]; null: not needed (yet)
  std::vector<std::vector<std::shared_ptr<LatentPage>>> pages;  // [mla layers][ceil(end / 64)]
  std::vector<bool> live;  // [positions + 1] the version after so many is held. Guarded.
  size_t kept;             // Entries and rows that are still there. Guarded.
};

// One version of a sequence: the log of the step that made it, up to one of its positions. To drop
// a version is to drop a reference: what no version before it needs goes back to the store.
class SequenceState : public text::State {
 public:
  SequenceState(std::shared_ptr<StepLog> step, size_t consumed);
  ~SequenceState() override;
  SequenceState(const SequenceState&) = delete;
  SequenceState& operator=(const SequenceState&) = delete;
  size_t position() const override { return log->first + count; }

  const std::shared_ptr<StepLog> log;
  const size_t count;  // Entries of the log that belong to it.
};

// How the heads of one KDA layer come from the version before to what the step continues. Made by
// BeginKda, read by the heads.
struct KdaVisit {
  KdaBase* base = nullptr;          // To be advanced to the step's first position; null: zeros.
  bool fresh = false;               // `base` is new: a head begins as a copy of
  const KdaBase* source = nullptr;  // this one's, or with zeros.
  bool outgrown = false;            // No version needs what the version before has behind it.
};

// The memory of all versions, allocated once: bases for two sequences or branches, log entries of
// two steps in the one layer that is being computed and of one in the others, and pages for
// `context` positions. So beside the version that is continued one more can wait, and a step of a
// single position fits; a longer one may not.
//
// Invariants, for each KDA layer and each version that is held, (log, count) with base B:
//  1. log.first <= position of each head of B <= log.first + count, and the entries between B's
//     position and the version's are there. So it can be read whatever became of later steps.
//  2. B advances in place only along a log that alone refers to it, and only over entries that all
//     held versions of that log contain. Else the step continues a copy.
// A base is referred to by logs alone, and a log goes after its last version, whose drop takes the
// store's lock: that lock held, the references of a base count the logs that need it.
// Rows of a page are written once; a step extends a page when it ends where the step begins, else
// it continues a copy.
//
// At released shapes (69 KDA layers, 96 heads of 128 x 128, 4 taps) a set of bases takes 443.1 MiB,
// and a position of the log 13.0 MiB: four vectors of 12288 floats and 96 more in each layer. The
// convolved keys and values are computed again, from what the convolution of later positions needs
// anyway.
//
// Threads: versions may be dropped on any; all else belongs to the one that steps, or to the stages
// of a step as said. A version must not be read while a step runs.
class StateStore : public std::enable_shared_from_this<StateStore> {
 public:
  // `positions`: the most that a step takes; `folded`: the most of one that is folded. Refused when
  // the machine does not give the memory.
  static Result<std::shared_ptr<StateStore>> Create(const Shape& shape, size_t context,
                                                    size_t positions = 1, size_t folded = 0);
  static size_t Bytes(const Shape& shape, size_t context, size_t positions = 1, size_t folded = 0);

  const KdaLayout& kda_layout() const { return kda_; }
  size_t page_width() const { return page_width_; }
  size_t kda_layers() const { return kda_layers_; }
  size_t mla_layers() const { return mla_layers_; }
  size_t context() const { return context_; }

  // The version before the first token.
  std::shared_ptr<const SequenceState> Empty();
  // A version at `position` (from 1) with memory of its own, whose bases are there and of whose
  // heads and rows the caller writes every one before it is read or continued: heads in
  // log->bases[layer]->head, rows by Row. Refused where the context has fewer positions; an error
  // where other versions hold the memory.
  Result<std::shared_ptr<const SequenceState>> Restore(size_t position);

  // The log of a step of `positions` after `before`; nothing is in it yet. Folded, it takes bases
  // of its own in place of entries.
  std::shared_ptr<StepLog> Begin(const SequenceState& before, size_t positions,
                                 bool folded = false);
  // The step is complete: the versions after its positions, or the last one if it is folded.
  static std::vector<std::shared_ptr<const SequenceState>> Versions(std::shared_ptr<StepLog> log);

  // Around the heads of KDA layer `layer` of the step: first the base and the entries that the
  // heads work on, an error when more versions are held than there is memory for; then, after all
  // heads, what nobody needs any more goes.
  Result<KdaVisit> BeginKda(const SequenceState& before, StepLog& log, size_t layer);
  void EndKda(const SequenceState& before, StepLog& log, size_t layer, const KdaVisit& visit);

  // Makes the rows of all positions of the step writable in MLA layer `layer`. An error when no
  // page is left.
  Status AppendRows(StepLog& log, size_t layer);
  float* Row(const StepLog& log, size_t layer, size_t position) const;

  // Of one MLA layer, up to the version's position.
  std::vector<std::shared_ptr<LatentPage>> PagesOf(const SequenceState& version,
                                                   size_t layer) const;

  size_t free_entries() const { return entry_pool_->free_blocks(); }
  size_t free_bases() const { return base_pool_->free_blocks(); }
  size_t free_pages() const { return page_pool_->free_blocks(); }

 private:
  friend class SequenceState;
  StateStore() = default;
  Result<std::shared_ptr<LatentPage>> NewPage();
  Result<std::shared_ptr<KdaBase>> NewBase();
  void Hold(StepLog& log, size_t count);
  void Drop(StepLog& log, size_t count);

  KdaLayout kda_;
  size_t page_width_ = 0;
  size_t kda_layers_ = 0;
  size_t mla_layers_ = 0;
  size_t context_ = 0;
  mutable std::mutex mutex_;
  HugeRegion memory_;
  std::unique_ptr<BlockPool> base_pool_;
  std::unique_ptr<BlockPool> entry_pool_;
  std::unique_ptr<BlockPool> page_pool_;
};

}  // namespace penstock::k3
