#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/pack/manifest.h"
#include "runtime/result.h"

namespace penstock::io {

// What a journal says (io/pack.h has its form).
struct Journal {
  PackParameters parameters;
  std::vector<PackTensor> tensors;
  std::vector<PlannedStripe> plan;
  std::vector<Stripe> stripes;      // As far as the lines are whole and continue one another.
  std::vector<uint64_t> ends = {};  // [stripes] Bytes of the journal up to behind this line.
  uint64_t head_bytes = 0;          // Of the first line; 0 when it is not whole: nothing is known.
};

// Both with the newline.
std::string JournalHead(const PackParameters& parameters, const std::vector<PackTensor>& tensors,
                        const std::vector<PlannedStripe>& plan);
std::string JournalLine(const Stripe& stripe);

// Reads as many lines as are whole. Refuses a first line that is whole and no journal's; whatever
// is wrong behind it ends the reading.
Result<Journal> ParseJournal(std::string_view text, std::string_view file);

// Refuses to go on with a pack that was begun with something else, naming the first difference.
Status CheckSamePack(const Journal& begun, const PackParameters& parameters,
                     const std::vector<PackTensor>& tensors, const std::vector<PlannedStripe>& plan,
                     std::string_view directory);

}  // namespace penstock::io
