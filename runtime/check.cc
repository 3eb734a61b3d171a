#include "runtime/check.h"

#include <cstdio>
#include <cstdlib>

namespace penstock {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "penstock: internal check failed at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace penstock
