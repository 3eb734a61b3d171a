#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "models/k3/synth/layout.h"

namespace penstock::k3 {

// Bytes of a tensor in a chunk, filled by one thread.
struct Piece {
  const SynthTensor* tensor = nullptr;
  uint64_t first = 0;  // Element.
  size_t at = 0;       // In the chunk.
  size_t bytes = 0;
};

// A run of bytes of one shard.
struct Chunk {
  std::byte* memory = nullptr;
  size_t shard = 0;
  uint64_t file_bytes = 0;  // Of the whole shard.
  size_t header_bytes = 0;  // In this chunk.
  size_t bytes = 0;         // In this chunk; what was made behind them
  size_t overhang = 0;      // belongs to the beginning of the next one.
  std::vector<Piece> pieces;
  std::shared_ptr<const std::vector<SynthTensor>> tensors;  // What the pieces point to.
  size_t pieces_left = 0;                                   // The filler's.
};

// Threads that fill chunks in the order in which they were started. Start and Wait from one thread;
// a chunk stays where it is until it has been waited for.
class Filler {
 public:
  Filler(uint64_t seed, size_t threads);
  ~Filler();  // Waits for pieces being filled; leaves the others.
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  void Start(Chunk& chunk);
  void Wait(const Chunk& chunk);

 private:
  struct Job {
    Chunk* chunk;
    const Piece* piece;
  };
  void Run();

  uint64_t seed_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace penstock::k3
