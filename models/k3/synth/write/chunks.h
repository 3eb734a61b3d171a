#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/k3/synth/layout.h"
#include "models/k3/synth/write/filler.h"

namespace penstock::k3 {

// The header of a shard: length, JSON, padded with spaces to 8 bytes.
std::string ShardHeader(const std::vector<SynthTensor>& tensors);

// Cuts all shards, in order and each with its header first, into chunks of equal size: every write
// but the last one of a shard begins and ends at a multiple of it. A group of values may lie across
// the end of a chunk: it is made whole, in the chunk's slack (Chunk::overhang).
class ChunkCutter {
 public:
  static constexpr size_t kSlack = 4096;  // Bytes of a chunk's memory behind its end.

  // `chunk_bytes` is a multiple of 4096. Keeps a reference to the layout.
  ChunkCutter(const SynthLayout& layout, size_t chunk_bytes);

  // Plans the next chunk into `chunk` (memory untouched, except for the header's bytes, which are
  // written here). False after the last one.
  bool Next(Chunk& chunk);

 private:
  void BeginShard();
  void TakeHeader(Chunk& chunk);
  void TakeTensors(Chunk& chunk);

  const SynthLayout& layout_;
  size_t chunk_bytes_;
  size_t shard_ = 0;
  std::shared_ptr<const std::vector<SynthTensor>> tensors_;
  std::string header_;
  uint64_t file_bytes_ = 0;
  size_t header_at_ = 0;
  size_t tensor_ = 0;       // The one that is cut,
  uint64_t tensor_at_ = 0;  // and its bytes that have been planned.
  size_t overhang_ = 0;     // Bytes of the next chunk that the one before has made.
};

}  // namespace penstock::k3
