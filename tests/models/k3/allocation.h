#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <gtest/gtest.h>
#include <malloc.h>

#include "models/k3/engine.h"

namespace penstock::k3 {

// Fifty steps from the beginning: the same pages are filled each time.
inline void RunFiftySteps(Engine& engine) {
  text::StateRef state = engine.EmptyState();
  for (text::TokenId id = 0; id < 50; ++id) {
    engine.ExpectMore(id + 1 < 50);  // Nothing is read ahead when the run has ended.
    auto step = engine.Step(state, std::span(&id, 1));
    ASSERT_TRUE(step.has_value());
    state = step->after.back();
  }
}

// Bytes by which the heap has grown after a hundred steps, the least of three times. TBB keeps freed
// tasks in pools, one a thread, whose fill moves by some; what grows with the steps would show every
// time. Says nothing under a sanitizer, whose allocator does not count.
inline size_t GrowthInAHundredSteps(Engine& engine) {
  RunFiftySteps(engine);
  RunFiftySteps(engine);
  size_t least = ~size_t{0};
  for (int time = 0; time < 3; ++time) {
    const size_t before = mallinfo2().uordblks;
    RunFiftySteps(engine);
    RunFiftySteps(engine);
    const size_t after = mallinfo2().uordblks;
    least = std::min(least, after > before ? after - before : 0);
  }
  return least;
}

}  // namespace penstock::k3
