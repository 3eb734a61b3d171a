#pragma once

#include "runtime/memory/tsan.h"

// The packaged oneTBB is not built for ThreadSanitizer: the hand-over of a task from the thread
// that submits it to the one that runs it is invisible, and every message would be reported. So
// builds for TSan say it: what happened before a task was submitted happens before a body that
// starts later (graph/handover.cc stands between this module and TBB's submit). Bodies that run at
// the same time stay unordered, so that their races are found. Nothing in other builds.

namespace penstock::graph {

class Handover {
 public:
#ifdef PENSTOCK_TSAN
  static void Give();  // What this thread did so far ...
  static void Take();  // ... has happened for the thread that takes.
#else
  static void Give() {}
  static void Take() {}
#endif
};

}  // namespace penstock::graph
