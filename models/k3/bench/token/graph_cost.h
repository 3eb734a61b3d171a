#pragma once

#include <cstddef>

namespace penstock::k3 {

// What the graph itself takes for a message, in nanoseconds of CPU: the counters, the queue, the task
// and the wake-ups of a serial stage and a wide one that pass messages on to each other, with bodies that
// do nothing, on an arena of `threads` workers. CPU time of the whole process, so nothing else may run.
double MessageNs(size_t threads);

}  // namespace penstock::k3
