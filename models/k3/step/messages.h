#pragma once

#include <cstdint>

#include "models/k3/weights/meeting.h"
#include "models/text/text_model.h"

namespace penstock::k3 {

// What travels along the edges of the pipeline, besides Done (layers/flow.h), Block and ReadyExpert
// (weights/meeting.h): small values that hold references, never memory of their own.

struct Wake {};
struct Go {};
struct Token {
  text::TokenId id = 0;
};
struct Extent {
  uint32_t number = 0;
};
// What comes to the meeting: an extent or an expert from the reader, or an input from the flow.
struct Arrival {
  enum class Kind : uint8_t { kExtent, kExpert, kProductInput, kExpertInput, kLookahead };
  Kind kind = Kind::kExtent;
  bool failed = false;  // Could not be read; the run has the Error.
  uint32_t number = 0;  // Extent or product.
  ReadyExpert expert;
  uint64_t step = 0;    // kLookahead, at layer `number`,
  bool router = false;  // with its router.
};
// A look ahead at a layer: the blocks of its router one by one, then the last one without any.
struct Glimpse {
  uint64_t visit = 0;
  uint64_t step = 0;
  uint32_t layer = 0;
  bool router = false;
  bool last = false;
  Block block;
};
struct Wanted {
  uint64_t attempt = 0;  // Of a step; one that failed may be tried again.
  uint32_t layer = 0;
  uint32_t rank = 0;
  uint32_t expert = 0;
};
struct Heads {
  uint32_t first = 0;
  uint32_t count = 0;
};

}  // namespace penstock::k3
