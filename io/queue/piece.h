#pragma once

#include <cstdint>

#include "io/reader.h"

namespace penstock::io {

constexpr uint64_t RoundDown(uint64_t value, uint64_t alignment) {
  return value / alignment * alignment;
}
constexpr uint64_t RoundUp(uint64_t value, uint64_t alignment) {
  return RoundDown(value + alignment - 1, alignment);
}

// No file system asks for more; refused when one does.
inline constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;

// The longest single read: read(2) and its kin move at most 2 GiB less a page.
inline constexpr uint64_t kLongestReadBytes = (uint64_t{1} << 31) - kMaxAlignment;

// An extent rounded out to its file's alignment and cut into reads. Offsets are of the file.
struct Split {
  // Aligned down and up; end - begin bytes come from the device. An empty extent has begin == end.
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t wanted_end = 0;   // End of the extent itself.
  uint64_t piece_bytes = 0;  // Of every piece but the last; a multiple of the alignment.

  uint64_t PieceCount() const;  // At least 1: an empty extent makes one empty read.
};

// The extent must end below 2^63 - alignment. `block_bytes` (--bs) is rounded down to the
// alignment, but never to nothing. As few pieces as it allows, of about one size: a small last one
// would leave little to do for the device when the large one before it is done.
Split SplitExtent(const Extent& extent, uint64_t alignment, uint64_t block_bytes);

// One read of a split extent: what it must bring and how far it got. A device may deliver less than
// was asked for at any time; what is missing is asked for again.
class Piece {
 public:
  enum class State {
    kDone,      // Every byte wanted of it is there.
    kContinue,  // Read again from offset().
    kWait,      // The same, but not at once: the kernel is short of something.
    kEnded,     // Twice in a row nothing new came: the file ends at filled_to().
    kFailed,    // error() says why.
  };

  Piece() = default;
  Piece(const Split& split, uint64_t index, uint64_t alignment);

  // The read to submit next. It begins at an aligned offset, also after a read that ended
  // anywhere: direct reads may begin nowhere else.
  uint64_t offset() const { return RoundDown(filled_to_, alignment_); }
  uint64_t bytes() const { return end_ - offset(); }

  // Takes the outcome of that read: bytes that arrived, or -errno.
  State Advance(int64_t result);

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  uint64_t wanted_end() const { return wanted_end_; }
  uint64_t filled_to() const { return filled_to_; }
  int retries() const { return retries_; }  // Refusals by the kernel since the last progress.
  int error() const { return error_; }

 private:
  State Refused(int sys);

  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t wanted_end_ = 0;
  uint64_t filled_to_ = 0;
  uint64_t alignment_ = 1;
  int retries_ = 0;
  int stalls_ = 0;
  int error_ = 0;
};

}  // namespace penstock::io
