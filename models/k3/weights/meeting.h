#pragma once

#include <cstdint>
#include <vector>

#include "models/k3/experts/experts.h"
#include "models/k3/weights/pass.h"
#include "models/k3/weights/stream.h"

namespace penstock::k3 {

inline constexpr size_t kBlockBytes = size_t{1} << 20;  // Weights of one product message.

// Some rows of an extent that has met its input, about a MiB: what one product body works on. The
// extent's bytes go back to the ring when the last block of it is gone.
struct Block {
  uint32_t extent = 0;
  uint32_t first_row = 0;  // Of the matrix.
  uint32_t rows = 0;
  BufferRef weights;  // Exactly these rows or, with `tiles`, the whole stripe that holds them,
  uint32_t first_tile = 0;  // in these tiles of it.
  uint32_t tiles = 0;
  bool late = false;  // The weights came after the input.
};

// A chosen expert that has its weights and, once the latent is prepared, its input.
struct ReadyExpert {
  uint64_t visit = 0;  // Which layer of which step asked for it.
  uint32_t index = 0;  // Among those that the layer has chosen.
  ExpertWeights weights;
  bool late = false;  // The weights came after the input.
};

// Where weights that arrive and inputs that become ready find each other; whichever comes second
// sends the work on.
// Threads: one at a time (a serial stage).
class Meeting {
 public:
  Meeting(const Pass& pass, WeightStream& stream, size_t block_bytes);

  // The input of `product` is ready: appends the blocks of its extents that have arrived. Fails
  // when one of them could not be read.
  Status InputReady(uint32_t product, std::vector<Block>& blocks);
  // `extent` has arrived: appends its blocks if its input is ready, or fails likewise.
  Status Arrived(uint32_t extent, std::vector<Block>& blocks);

  // Appends the blocks of a product for a look ahead, if all its bytes are here. They stay here.
  void Peek(uint32_t product, std::vector<Block>& blocks) const;

  // The input of the experts of `visit` is ready: appends those that wait.
  void LatentReady(uint64_t visit, std::vector<ReadyExpert>& experts);
  // An expert has arrived: appends it if its input is ready.
  void Arrived(const ReadyExpert& expert, std::vector<ReadyExpert>& experts);

  // Lets go of the experts that wait: their step has failed.
  void DropExperts() { waiting_.clear(); }

  // Forgets everything, after a step that did not end well.
  void Reset();

 private:
  Status Cut(uint32_t extent, std::vector<Block>& blocks);
  void CutBytes(uint32_t extent, const BufferRef& bytes, std::vector<Block>& blocks) const;
  void CutStripe(uint32_t extent, const BufferRef& stripe, std::vector<Block>& blocks) const;

  const Pass& pass_;
  WeightStream& stream_;
  const size_t block_bytes_;
  std::vector<bool> arrived_;      // [extents] here, its input is not ready
  std::vector<bool> input_ready_;  // [extents] its input is ready, the bytes are not here
  static constexpr uint64_t kNoVisit = ~uint64_t{0};
  uint64_t latent_ready_ = kNoVisit;  // The visit whose experts have their input.
  std::vector<ReadyExpert> waiting_;
};

}  // namespace penstock::k3
