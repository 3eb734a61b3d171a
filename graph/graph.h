#pragma once

// penstock::graph: a thin layer over oneTBB's flow graph.
//
// A graph is made once, in one constructor that fits a screen: first its stages, each with a name
// and a width, then its edges in the order of the flow. A run of it is one message. What this
// module adds to TBB is what a reader and a run need and TBB does not give:
//
//   Arena       the threads, their cores, and one thread more in the pool than slots (arena.h)
//   Stage       a named body with typed outputs; counted, timed, exceptions become the run's Error
//   AsyncStage  work that happens on other threads and comes back through a Reply
//   Credit      a queue in front of a limiter: the only place that bounds messages
//   Outcome     how one run ends: the first Finish or Fail wins (outcome.h)
//   Picture     DOT from the live objects (picture.h)
//   Observer    is told of every body, for traces (observer.h)
//
// Rules for bodies: never block, never enter the kernel for I/O, hold pointers to services only.
// Rules for messages: small values that hold references; a failed one travels the same edges and
// carries its Error. Order of destruction: the graph first, then the services, then the arena.
//
// Not here: priorities (a node priority overtakes the chunks of nested loops, and arena priorities
// starve), joins of two graphs, nested parallel loops (a body inside one can steal another's work).

#include "graph/arena.h"
#include "graph/observer.h"
#include "graph/outcome.h"
#include "graph/picture.h"
#include "graph/stage.h"
