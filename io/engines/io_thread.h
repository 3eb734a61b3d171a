#pragma once

#include <functional>
#include <thread>

#include "runtime/cpu/cpu_list.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::io {

// Prepares the calling thread for completions: its name (at most 15 letters), its CPUs (none: those
// inherited), and a time slice of 100 us, without which it completes 2-3 ms late when every core
// computes. What the kernel refuses is told in one line; the thread works without it.
void PrepareIoThread(const char* name, const CpuSet& cpus, const Notice& notice);

// Starts `body` on `thread`. Fails where std::thread would throw.
Status StartThread(std::thread* thread, std::function<void()> body);

}  // namespace penstock::io
