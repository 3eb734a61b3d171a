#pragma once

#include <cstdint>

#include "graph/observer.h"
#include "models/k3/weights/meeting.h"
#include "models/text/text_model.h"

namespace penstock::k3 {

// What travels along the edges of the pipeline, besides Done (layers/flow.h), Block and ReadyExpert
// (weights/meeting.h): small values that hold references, never memory of their own.

struct Wake {};
// Work on where the step stands; the layer is for observers.
struct Go {
  uint32_t layer = 0;
};
struct Token {
  size_t position = 0;  // Of the step.
  text::TokenId id = 0;
};
struct Extent {
  uint32_t number = 0;
};
// What comes to the meeting: an extent or an expert from the reader, or an input from the flow.
struct Arrival {
  enum class Kind : uint8_t {
    kExtent,
    kExpert,
    kProductInput,
    kExpertInput,
    kLookahead,
    kStepOver,  // It has failed: experts that wait for their input wait in vain.
  };
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
  uint32_t index = 0;  // Among those that the layer has chosen.
  uint32_t expert = 0;
};
struct Heads {
  uint32_t first = 0;
  uint32_t count = 0;
  uint32_t layer = 0;
};

// What an observer is told of them: the extent as the part, the index of an expert as the item.
inline graph::Subject SubjectOf(const Extent& extent) { return {.part = extent.number}; }
inline graph::Subject SubjectOf(const Block& block) { return {.part = block.extent}; }
inline graph::Subject SubjectOf(const Glimpse& glimpse) { return {.group = glimpse.layer}; }
inline graph::Subject SubjectOf(const ReadyExpert& expert) { return {.item = expert.index}; }
inline graph::Subject SubjectOf(const Go& go) { return {.group = go.layer}; }
inline graph::Subject SubjectOf(const Heads& heads) { return {.group = heads.layer}; }
inline graph::Subject SubjectOf(const Wanted& wanted) {
  return {.group = wanted.layer, .item = wanted.index};
}
inline graph::Subject SubjectOf(const Arrival& arrival) {
  switch (arrival.kind) {
    case Arrival::Kind::kExtent:
      return {.part = arrival.number};
    case Arrival::Kind::kExpert:
      return {.item = arrival.expert.index};
    case Arrival::Kind::kLookahead:
      return {.group = arrival.number};
    case Arrival::Kind::kProductInput:
    case Arrival::Kind::kExpertInput:
    case Arrival::Kind::kStepOver:
      break;
  }
  return {};
}

}  // namespace penstock::k3
