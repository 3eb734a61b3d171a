#include "graph/handover.h"

#ifdef PENSTOCK_TSAN

#include <cstddef>
#include <cstdint>

#include <oneapi/tbb/task_arena.h>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace penstock::graph {
namespace {
char tasks;  // Only their addresses are used.
char memory;
}  // namespace

void Handover::Give() { __tsan_release(&tasks); }
void Handover::Take() { __tsan_acquire(&tasks); }

}  // namespace penstock::graph

// The linker sends our calls of these four functions here (--wrap in graph/CMakeLists.txt). The
// pool of small objects hands the memory of a task on to the next one, also to another thread.
extern "C" {
using tbb::detail::d1::execution_data;
using tbb::detail::d1::small_object_pool;
using tbb::detail::d1::task;
using tbb::detail::d1::task_group_context;

void __real__ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm(
    task&, task_group_context&, void* arena, uintptr_t as_critical);
void __wrap__ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm(
    task& submitted, task_group_context& context, void* arena, uintptr_t as_critical) {
  penstock::graph::Handover::Give();
  __real__ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm(
      submitted, context, arena, as_critical);
}

// Called by whoever ends the last task of a graph that somebody waits for.
void __real__ZN3tbb6detail2r114notify_waitersEm(uintptr_t address);
void __wrap__ZN3tbb6detail2r114notify_waitersEm(uintptr_t address) {
  penstock::graph::Handover::Give();
  __real__ZN3tbb6detail2r114notify_waitersEm(address);
}

void __real__ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE(
    small_object_pool&, void*, size_t, const execution_data&);
void __wrap__ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE(
    small_object_pool& pool, void* object, size_t bytes, const execution_data& data) {
  __tsan_release(&penstock::graph::memory);
  __real__ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE(
      pool, object, bytes, data);
}

void* __real__ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(small_object_pool*&, size_t);
void* __wrap__ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(small_object_pool*& pool,
                                                                       size_t bytes) {
  void* object = __real__ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(pool, bytes);
  __tsan_acquire(&penstock::graph::memory);
  return object;
}
}

#endif
