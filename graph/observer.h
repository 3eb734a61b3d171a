#pragma once

#include <cstdint>

#include "graph/picture.h"

namespace penstock::graph {

// What a message is about, in numbers of the graph's owner; kNoSubject where it says nothing.
inline constexpr uint32_t kNoSubject = ~uint32_t{0};
struct Subject {
  uint32_t group = kNoSubject;
  uint32_t part = kNoSubject;
  uint32_t item = kNoSubject;
};

// Overloaded beside a type of messages that has something to say.
template <class Message>
Subject SubjectOf(const Message&) {
  return {};
}

// Is told of every body that runs, on the thread that runs it. A graph without one pays for a
// branch. Threads: all of the arena at once.
class Observer {
 public:
  virtual ~Observer() = default;

  // A body begins; may add to what its message says. Its time counts as the node's.
  virtual void Begins(const NodeFacts& node, Subject* subject) = 0;
  // It has ended, and its messages are on their way. Times by NowNs(Clock::kWall).
  virtual void Ended(const NodeFacts& node, const Subject& subject, uint64_t start_ns,
                     uint64_t end_ns) = 0;
};

}  // namespace penstock::graph
