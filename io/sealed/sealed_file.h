#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/pack/write/output_file.h"
#include "runtime/result.h"

namespace penstock::io {

// A file that is whole or not there, and of which no bit can change unnoticed.
//
//   0   kind      8 bytes, of whoever owns the format of the rest
//   8   facts     u64, their bytes
//   16  payload   u64, its bytes
//   24  sum       u64, SumOf the 24 bytes before and the facts behind it
//   32  facts     text, at most kMostFacts
//       payload
//       sums      u64 for each MiB of the payload, the last one for what is left
//       sum       u64, SumOf the sums
//
// Numbers are little-endian; sums are XXH3-64 (io/pack/sum/sum.h). The file has exactly the bytes
// that this adds up to.
inline constexpr size_t kSealedChunk = size_t{1} << 20;
inline constexpr uint64_t kMostFacts = uint64_t{1} << 30;

using SealedKind = std::array<char, 8>;

// Writes PATH.partial; Seal gives it its name when all of it has reached the device, so that what
// had the name before stays until then, through a full disk and a kill at any point. Without Seal
// the partial file is removed. It is locked (flock) from before its first byte until it has gone or
// has its name: of two writers of a name, in one process or in two, the second one gets an error at
// once (EWOULDBLOCK), which names the file, and disturbs nothing. What a killed process has left is
// nobody's and is written over. Move-only. Threads: one.
class SealedWriter {
 public:
  static Result<SealedWriter> Create(const std::string& path, const SealedKind& kind,
                                     std::string_view facts, uint64_t payload_bytes);
  SealedWriter(SealedWriter&& other) noexcept;
  SealedWriter& operator=(SealedWriter&& other) noexcept = delete;
  ~SealedWriter();

  // The next bytes of the payload.
  Status Append(std::span<const std::byte> bytes);
  // All payload_bytes have been appended. Answers the bytes of the file. An error before it has its
  // name leaves what was there; when it is only the directory that cannot be brought to the device,
  // the new file is there, whole, but a power cut may bring the old one back.
  Result<uint64_t> Seal();

 private:
  SealedWriter(std::string path, OutputFile file, uint64_t payload_bytes, uint64_t at);
  Status WriteChunk();

  std::string path_;
  OutputFile file_;
  uint64_t left_ = 0;  // Of the payload, to come.
  uint64_t at_ = 0;    // In the file.
  std::vector<std::byte> chunk_;
  std::vector<uint64_t> sums_;
  bool partial_ = true;  // There is a file to remove.
};

// Reads such a file. Nothing is given out that its sum does not hold for. Move-only. Threads: one.
class SealedReader {
 public:
  // Refused, with what was expected and found: another kind, a size that does not add up, facts or
  // sums that have changed. The payload is checked as it is read.
  static Result<SealedReader> Open(const std::string& path, const SealedKind& kind);
  SealedReader(SealedReader&& other) noexcept;
  SealedReader& operator=(SealedReader&& other) noexcept = delete;
  ~SealedReader();

  const std::string& facts() const { return facts_; }
  uint64_t payload_bytes() const { return payload_bytes_; }
  // Fills `into` with the next bytes of the payload, which must have as many.
  Status Read(std::span<std::byte> into);

 private:
  SealedReader(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status ReadHead(const SealedKind& kind);
  Status ReadSums();
  Status NextChunk();
  Status ReadAt(uint64_t offset, std::span<std::byte> into) const;

  std::string path_;
  int fd_ = -1;
  std::string facts_;
  uint64_t payload_bytes_ = 0;
  uint64_t payload_at_ = 0;  // In the file.
  std::vector<uint64_t> sums_;
  std::vector<std::byte> chunk_;
  size_t chunk_used_ = 0;
  size_t chunks_read_ = 0;
};

}  // namespace penstock::io
