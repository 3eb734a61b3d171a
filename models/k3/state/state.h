#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "models/k3/config/shape.h"
#include "models/text/text_model.h"
#include "runtime/memory/block_pool.h"
#include "runtime/memory/buffer.h"
#include "runtime/memory/region.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What one KDA layer remembers, f32, head by head so that heads can be advanced apart:
//   S [D][D] key channel by value channel, then the last taps-1 projected, unconvolved inputs of q,
//   k and v, each [taps-1][D], oldest first.
struct KdaLayout {
  size_t heads = 0;
  size_t width = 0;  // D
  size_t taps = 0;
  size_t history_floats() const { return (taps - 1) * width; }
  size_t head_floats() const { return width * width + 3 * history_floats(); }
  size_t bytes() const { return heads * head_floats() * sizeof(float); }
};

// 64 positions of one MLA layer's cache, [64][kv_rank + rope] f32, appended to and never changed:
// rows below `filled` are immutable. Whoever moves `filled` from n to n + 1 owns row n.
struct LatentPage {
  explicit LatentPage(MutableBuffer memory) : buffer(std::move(memory)) {}
  float* rows() const { return reinterpret_cast<float*>(buffer.data()); }

  MutableBuffer buffer;
  std::atomic<size_t> filled{0};
};

// One version of a sequence. Versions share what did not change: a KDA layer's block belongs to the
// version that computed it, pages are shared by all that passed them. A version keeps the store
// alive.
class StateStore;
class SequenceState : public text::State {
 public:
  explicit SequenceState(std::shared_ptr<StateStore> memory) : store(std::move(memory)) {}
  size_t position() const override { return consumed; }

  std::shared_ptr<StateStore> store;  // First: what the version's memory goes back to.
  size_t consumed = 0;
  std::vector<BufferRef> kda;                                   // [kda layers]
  std::vector<std::vector<std::shared_ptr<LatentPage>>> pages;  // [mla layers][ceil(position / 64)]
};

// The memory of all versions, allocated once: two full sets of KDA blocks (a step reads one and
// writes the other) and pages for `context` positions.
class StateStore : public std::enable_shared_from_this<StateStore> {
 public:
  // Refused when the machine does not give the memory.
  static Result<std::shared_ptr<StateStore>> Create(const Shape& shape, size_t context);
  static size_t Bytes(const Shape& shape, size_t context);

  const KdaLayout& kda_layout() const { return kda_; }
  size_t page_width() const { return page_width_; }

  // The version before the first token.
  std::shared_ptr<const SequenceState> Empty();

  // A block for one KDA layer of a version that is being made; its content is whatever was there.
  // An error when more versions are held than there is memory for.
  Result<MutableBuffer> NewKdaBlock();

  // Makes row `position` of `pages` writable and returns it: extends the last page where this
  // version is the first to do so, copies it where another version has already gone on from here.
  Result<float*> AppendRow(std::vector<std::shared_ptr<LatentPage>>& pages, size_t position);

 private:
  StateStore() = default;
  Result<std::shared_ptr<LatentPage>> NewPage();

  KdaLayout kda_;
  size_t page_width_ = 0;
  HugeRegion memory_;
  std::unique_ptr<BlockPool> kda_pool_;
  std::unique_ptr<BlockPool> page_pool_;
  size_t kda_layers_ = 0;
  size_t mla_layers_ = 0;
  BufferRef zeros_;  // Last: it goes back to its pool.
};

}  // namespace penstock::k3
