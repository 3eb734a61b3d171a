#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/k3/config/options.h"
#include "models/k3/config/shape.h"
#include "models/k3/plan/weight_bytes.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What the memory of a run is needed for, before anything of it is allocated.
struct MemoryNeeds {
  uint64_t process_bytes = 0;    // Resident now: program, libraries, catalogue.
  uint64_t image_bytes = 0;      // The files, where the memory engine holds them.
  size_t context = 0;            // Positions of the state,
  size_t positions = 1;          // the most of a step,
  bool fewer_positions = false;  // or fewer, rather than none;
  size_t read_positions = 0;     // the most of one that reads a prompt, if more; 0: the planner's,
  size_t prompt_positions = 0;   // at most as many as are to be read.
  uint64_t embed_row_bytes = 0;  // What the read of a position's row takes in memory.
  uint64_t budget_bytes = 0;     // --memory, or what the machine gives.
  std::string budget_from;       // "--memory" or the file that set the limit.
  uint64_t decoder_bytes = 0;    // Of all threads that decode stripes; 0 without a pack.
  // Threads that decode stripes on arrival, into a ring of their own; 0: the products decode.
  size_t decode_nodes = 0;
};

// How the budget is shared out. Every part is allocated at start and stays.
struct MemoryPlan {
  uint64_t budget_bytes = 0;
  uint64_t positions = 1;       // The most of a step,
  uint64_t read_positions = 1;  // and of one that reads a prompt.
  uint64_t fixed_bytes = 0;     // Everything but ring, cache and pins.
  uint64_t ring_bytes = 0;
  uint64_t slot_bytes = 0;  // One expert with each of its reads rounded out.
  uint64_t slots = 0;       // Of the expert cache.
  uint64_t pinned_bytes = 0;
  uint64_t pinned_payload = 0;      // What a step no longer reads, as stored.
  std::vector<uint32_t> pinned;     // Extents of the pass, in order of use: whole layers.
  uint64_t pinned_layers = 0;       // The head counts as one.
  bool pinned_packed = false;       // As stripes; else as bf16 rows.
  uint64_t staging_bytes = 0;       // For a stripe whose rows are pinned.
  uint64_t decoded_ring_bytes = 0;  // With decode_nodes.
  uint64_t largest_extent = 0;      // Rounded out: what the ring must hold at least.
  uint64_t least_bytes = 0;         // The smallest budget that would do with these pins.
  uint64_t overlap_bytes = 0;  // The smallest with which ring and cache are as large as wanted.
  std::vector<std::pair<std::string, uint64_t>> parts;  // Name and bytes, in order, for people.

  uint64_t cache_bytes() const { return slots * slot_bytes; }
  uint64_t total_bytes() const {
    return fixed_bytes + ring_bytes + decoded_ring_bytes + cache_bytes() + pinned_bytes;
  }
  std::string Table() const;
};

// Shares the budget out. First what nothing works without: fixed parts, a ring of the largest
// extent, one expert. Then what keeps the device busy: a ring of kWantedRingBytes, and the experts
// of one layer. Of the rest, what whole layers do not use makes the ring larger first, up to 512 MiB or a
// sixteenth of the budget. The rest goes to where a byte saves the most bytes of each token: a pinned byte of
// the trunk saves one, a byte of the expert cache the share of tokens that hit it, which is top_k /
// experts when nothing more is known and never above one. So whole layers are pinned, as many as
// fit, and what is left holds experts.
//
// A chunk of a prompt is read for the trunk's bytes of one token; so a read_positions that the planner
// chooses is the largest, up to the prompt and to kMostReadPositions, whose memory beyond that of a
// draft's step is at most 1 / kReadShare of the budget and leaves ring and experts of a layer what
// they want. A sixteenth costs a token at most that share of what pins would save it, in a budget
// of 8 GiB for the release under half a percent of its bytes; twice the positions halve a prompt's time.
//
// Pinned layers are spread evenly over the pass: while they are computed the device reads what
// streams between them, into a ring that is up to one layer larger for it. --ring, --expert-cache
// and --pin override. Layers of a pack are pinned decoded when all that --pin asks for fits so,
// else packed, about 1.45 times as many in the same bytes (--pin-format). Refused, with the
// smallest budget that works and its parts, when it cannot.
Result<MemoryPlan> PlanMemory(const MemoryNeeds& needs, const PipelineOptions& options,
                              const WeightBytes& weights, const Shape& shape);

// Eight times the 8 MiB that keep a device busy: a ring of so many held 0.997 of the rate of a
// 7 GB/s source, one of three windows 0.975.
inline constexpr uint64_t kWantedRingBytes = 64 * kMiB;

inline constexpr uint64_t kMostReadPositions = 256;
inline constexpr uint64_t kReadShare = 16;

// Whether `count` layers of `layers`, spread evenly, contain this one.
bool SpreadContains(size_t layer, size_t count, size_t layers);

}  // namespace penstock::k3
