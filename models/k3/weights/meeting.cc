#include "models/k3/weights/meeting.h"

#include <algorithm>
#include <utility>

namespace penstock::k3 {

Meeting::Meeting(const Pass& pass, WeightStream& stream, size_t block_bytes)
    : pass_(pass),
      stream_(stream),
      block_bytes_(block_bytes),
      arrived_(pass.extents().size()),
      input_ready_(pass.extents().size()) {}

Status Meeting::Cut(uint32_t number, std::vector<Block>& blocks) {
  PENSTOCK_TRY(const BufferRef weights, stream_.Take(number));
  CutBytes(number, weights, blocks);
  return {};
}

void Meeting::CutBytes(uint32_t number, const BufferRef& weights,
                       std::vector<Block>& blocks) const {
  if (stream_.GivesStripe(number)) return CutStripe(number, weights, blocks);
  const PassExtent& extent = pass_.extents()[number];
  const Product& product = pass_.ProductOf(extent);
  const size_t row_bytes = size_t{product.matrix.cols} * 2;
  const size_t units = std::max<size_t>(1, block_bytes_ / (row_bytes * product.row_unit));
  // Kernels take eight rows at a time: blocks of whole eights waste none of them.
  const size_t most_rows = product.row_unit > 1 ? units * product.row_unit : (units + 7) / 8 * 8;
  for (size_t row = 0; row < extent.rows; row += most_rows) {
    const size_t rows = std::min<size_t>(most_rows, extent.rows - row);
    blocks.push_back({number, static_cast<uint32_t>(extent.first_row + row),
                      static_cast<uint32_t>(rows), weights.Slice(row * row_bytes, rows * row_bytes),
                      0, 0});
  }
}

void Meeting::Peek(uint32_t product, std::vector<Block>& blocks) const {
  const Product& wanted = pass_.products()[product];
  const size_t before = blocks.size();
  for (uint32_t extent = wanted.first_extent; extent < wanted.first_extent + wanted.extents;
       ++extent) {
    const bool here = stream_.IsPinned(extent) || arrived_[extent];
    const auto bytes = here ? stream_.Peek(extent) : std::nullopt;
    if (!bytes) return blocks.resize(before);
    CutBytes(extent, *bytes, blocks);
  }
}

void Meeting::CutStripe(uint32_t number, const BufferRef& stripe,
                        std::vector<Block>& blocks) const {
  const PassExtent& extent = pass_.extents()[number];
  const Product& product = pass_.ProductOf(extent);
  const uint32_t tile_rows = TileRows(product);
  const size_t tile_bytes = size_t{tile_rows} * product.matrix.cols * 2;
  const auto tiles_each = static_cast<uint32_t>(std::max<size_t>(1, block_bytes_ / tile_bytes));
  const uint32_t tiles = (extent.rows + tile_rows - 1) / tile_rows;
  for (uint32_t tile = 0; tile < tiles; tile += tiles_each) {
    const uint32_t count = std::min(tiles_each, tiles - tile);
    const uint32_t row = tile * tile_rows;
    const uint32_t rows = std::min(count * tile_rows, extent.rows - row);
    blocks.push_back({number, extent.first_row + row, rows, stripe, tile, count});
  }
}

Status Meeting::InputReady(uint32_t product, std::vector<Block>& blocks) {
  const Product& wanted = pass_.products()[product];
  for (uint32_t extent = wanted.first_extent; extent < wanted.first_extent + wanted.extents;
       ++extent) {
    if (stream_.IsPinned(extent) || arrived_[extent]) {
      arrived_[extent] = false;
      PENSTOCK_TRY_VOID(Cut(extent, blocks));
    } else {
      input_ready_[extent] = true;
    }
  }
  return {};
}

Status Meeting::Arrived(uint32_t extent, std::vector<Block>& blocks) {
  if (!input_ready_[extent]) {
    arrived_[extent] = true;
    return {};
  }
  input_ready_[extent] = false;
  return Cut(extent, blocks);
}

void Meeting::LatentReady(uint64_t visit, std::vector<ReadyExpert>& experts) {
  latent_ready_ = visit;
  for (ReadyExpert& expert : waiting_) experts.push_back(std::move(expert));
  waiting_.clear();
}

void Meeting::Arrived(const ReadyExpert& expert, std::vector<ReadyExpert>& experts) {
  (expert.visit == latent_ready_ ? experts : waiting_).push_back(expert);
}

void Meeting::Reset() {
  std::fill(arrived_.begin(), arrived_.end(), false);
  std::fill(input_ready_.begin(), input_ready_.end(), false);
  waiting_.clear();
  latent_ready_ = kNoVisit;  // The step's second attempt has the same visits as its first.
}

}  // namespace penstock::k3
