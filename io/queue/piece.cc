#include "io/queue/piece.h"

#include <algorithm>
#include <cerrno>

#include "runtime/check.h"

namespace penstock::io {
namespace {

// -EAGAIN waits about twice as long each time (io/reader.cc); sixteen are a fifth of a second.
constexpr int kMaxRetries = 16;

}  // namespace

uint64_t Split::PieceCount() const {
  return begin == end ? 1 : (end - begin - 1) / piece_bytes + 1;
}

Split SplitExtent(const Extent& extent, uint64_t alignment, uint64_t block_bytes) {
  constexpr uint64_t kLastOffset = uint64_t{1} << 63;
  PENSTOCK_CHECK(alignment > 0 && alignment <= kMaxAlignment);
  PENSTOCK_CHECK(extent.offset < kLastOffset - alignment);
  PENSTOCK_CHECK(extent.bytes < kLastOffset - alignment - extent.offset);
  Split split;
  split.begin = RoundDown(extent.offset, alignment);
  split.wanted_end = extent.offset + extent.bytes;
  split.end = extent.bytes == 0 ? split.begin : RoundUp(split.wanted_end, alignment);
  const uint64_t block = std::min(block_bytes, RoundDown(kLongestReadBytes, alignment));
  const uint64_t most = std::max(RoundDown(block, alignment), alignment);
  const uint64_t bytes = split.end - split.begin;
  const uint64_t pieces = std::max<uint64_t>((bytes + most - 1) / most, 1);
  split.piece_bytes = bytes == 0 ? most : RoundUp((bytes + pieces - 1) / pieces, alignment);
  return split;
}

Piece::Piece(const Split& split, uint64_t index, uint64_t alignment)
    : begin_(split.begin + index * split.piece_bytes),
      end_(std::min(begin_ + split.piece_bytes, split.end)),
      wanted_end_(std::min(split.wanted_end, end_)),
      filled_to_(begin_),
      alignment_(alignment) {}

Piece::State Piece::Refused(int sys) {
  error_ = sys;
  if (sys != EAGAIN && sys != EINTR) return State::kFailed;
  if (++retries_ > kMaxRetries) return State::kFailed;
  return sys == EAGAIN ? State::kWait : State::kContinue;
}

Piece::State Piece::Advance(int64_t result) {
  if (result < 0) return Refused(static_cast<int>(-result));
  const uint64_t reached = offset() + std::min(static_cast<uint64_t>(result), bytes());
  if (reached > filled_to_) {
    filled_to_ = reached;
    stalls_ = 0;
    retries_ = 0;
  } else {
    ++stalls_;
  }
  if (filled_to_ >= wanted_end_) return State::kDone;
  return stalls_ >= 2 ? State::kEnded : State::kContinue;
}

}  // namespace penstock::io
