#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/k3/bench/codec/coders.h"
#include "models/k3/bench/codec/packed.h"
#include "models/k3/bench/codec/team.h"
#include "runtime/result.h"

namespace penstock::k3 {

// A way to decode what was packed.
struct UnpackWork {
  std::string name;  // For messages.
  const Packed* packed = nullptr;
  size_t chunks = 0;  // The first ones that are decoded; 0: all.
  MakeDecoder decoder;
  bool checksum = false;  // Checks the sum of what is stored before it is decoded.
  bool tile = false;      // Each chunk into the same memory, which stays in a cache.
};

// Where decoded weights go. The memory is the caller's and outlives the Unpacking.
struct Destination {
  std::span<std::byte> all;    // As large as the weights.
  std::span<std::byte> tiles;  // One for each thread, tile_bytes apart.
  size_t tile_bytes = 0;
};

// Decodes the chunks of one UnpackWork, on all threads of a team, as often as it is told.
class Unpacking {
 public:
  Unpacking(UnpackWork unpack, Team& team, Destination destination);

  // Threads take the next chunks as they finish, so that one that is held up holds up no other.
  void Run();
  // Every thread takes an equal part. Answers the CPU time, in nanoseconds, of the thread that took
  // the most: the time of the whole where nobody else wants the cores.
  double RunEqualParts();

  // Decodes once more and compares every chunk with its weights. kUnsound: one that differs or is
  // refused, here or in a run before.
  Status Check();

  size_t weight_bytes() const { return weight_bytes_; }  // That a run delivers.

 private:
  struct Member {
    std::unique_ptr<Decoder> decoder;
    std::optional<uint32_t> stripe;  // That the decoder has begun.
    double cpu_ns = 0;
  };

  void Work(size_t member, size_t first, size_t last);
  void TakeTurns(size_t member);
  std::span<std::byte> PlaceOf(size_t member, const PackedChunk& chunk) const;
  const char* DecodeOne(Member& me, const PackedChunk& chunk, std::span<std::byte> out) const;
  void Blame(size_t chunk, const char* what);

  const UnpackWork unpack_;
  Team& team_;
  const Destination destination_;
  const std::span<const PackedChunk> chunks_;
  size_t weight_bytes_ = 0;
  bool comparing_ = false;
  std::atomic<size_t> next_{0};
  std::vector<Member> members_;
  std::mutex mutex_;   // Of fault_.
  std::string fault_;  // The first that was found.
};

}  // namespace penstock::k3
