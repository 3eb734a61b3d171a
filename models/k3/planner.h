#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/file.h"
#include "models/k3/config/options.h"
#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"
#include "models/k3/weights/pass.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What the memory of a run is needed for, before anything of it is allocated.
struct MemoryNeeds {
  uint64_t process_bytes = 0;  // Resident now: program, libraries, catalogue.
  uint64_t image_bytes = 0;    // The files, where the memory engine holds them.
  size_t context = 0;          // Positions of the state.
  uint64_t budget_bytes = 0;   // --memory, or what the machine gives.
  std::string budget_from;     // "--memory" or the file that set the limit.
  uint64_t decoder_bytes = 0;  // Of all threads that decode stripes; 0 without a pack.
  // Threads that decode stripes on arrival, into a ring of their own; 0: the products decode.
  size_t decode_nodes = 0;
};

// How the budget is shared out. Every part is allocated at start and stays.
struct MemoryPlan {
  uint64_t budget_bytes = 0;
  uint64_t fixed_bytes = 0;  // Everything but ring, cache and pins.
  uint64_t ring_bytes = 0;
  uint64_t slot_bytes = 0;  // One expert with each of its reads rounded out.
  uint64_t slots = 0;       // Of the expert cache.
  uint64_t pinned_bytes = 0;
  uint32_t pinned_extents = 0;  // Of the pass, from its beginning.
  uint64_t pinned_layers = 0;
  bool pinned_packed = false;       // As stripes; else as bf16 rows.
  uint64_t staging_bytes = 0;       // For a stripe whose rows are pinned.
  uint64_t decoded_ring_bytes = 0;  // With decode_nodes.
  uint64_t largest_extent = 0;      // Rounded out: what the ring must hold at least.
  std::vector<std::pair<std::string, uint64_t>> parts;  // Name and bytes, in order, for people.

  uint64_t cache_bytes() const { return slots * slot_bytes; }
  uint64_t total_bytes() const {
    return fixed_bytes + ring_bytes + decoded_ring_bytes + cache_bytes() + pinned_bytes;
  }
  std::string Table() const;
};

// Shares the budget out: fixed parts, pins, a ring that keeps the device busy, and the rest for the
// expert cache. --ring, --expert-cache and --pin override. Layers of a pack are pinned decoded when
// all that --pin asks for fits so, else packed, about 1.45 times as many in the same bytes
// (--pin-format). Refused, with the smallest budget that works and its parts, when it cannot.
Result<MemoryPlan> PlanMemory(const MemoryNeeds& needs, const PipelineOptions& options,
                              const Catalogue& catalogue, const Shape& shape, const Pass& pass,
                              const io::FileSet& files);

}  // namespace penstock::k3
