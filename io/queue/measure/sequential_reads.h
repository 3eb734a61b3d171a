#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/options.h"
#include "io/reader.h"
#include "runtime/memory/region.h"
#include "runtime/notice.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::io {

// What one run of SequentialReads took. The CPU time is that of the whole process.
struct ReadCost {
  uint64_t bytes = 0;
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;
};

// Reads files in order as the trunk is read, as fast as it goes and into registered memory in 2 MiB
// pages: the body of benchmarks of the Reader. The bytes are not looked at.
// Threads: one.
class SequentialReads {
 public:
  static constexpr uint64_t kExtentBytes = 8 * kMiB;

  // --window auto is decided here, once, so that the slots are twice W.
  static Result<std::unique_ptr<SequentialReads>> Make(const IoOptions& options,
                                                       std::span<const std::string> paths,
                                                       const Notice& notice);

  // Reads `bytes` of `file` from `offset` on, beginning again at the file's start behind its last
  // whole extent. The file has at least one. Fails with the first read that does.
  Result<ReadCost> Run(FileId file, uint64_t offset, uint64_t bytes);

  Reader& reader() { return *reader_; }

 private:
  explicit SequentialReads(std::vector<uint64_t> extents) : extents_(std::move(extents)) {}

  std::byte* TakeSlot();
  void Read(const Extent& extent, std::byte* slot);

  const std::vector<uint64_t> extents_;  // Whole ones in each file.
  HugeRegion memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t slots_ = 0;
  std::vector<std::byte*> free_;
  Status outcome_;
  std::unique_ptr<Reader> reader_;  // Last: its threads use everything above.
};

}  // namespace penstock::io
