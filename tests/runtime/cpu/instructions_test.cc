#include "runtime/cpu/instructions.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "runtime/small_file.h"

namespace penstock {
namespace {

// The flags that the kernel lists for the first CPU: it leaves out what it does not save.
bool Listed(std::initializer_list<const char*> names) {
  const auto text = ReadSmallFile("/proc/cpuinfo");
  if (!text) return false;
  const size_t at = text->find("\nflags");
  if (at == std::string::npos) return false;
  std::string line = text->substr(at + 1, text->find('\n', at + 1) - at - 1) + " ";
  for (const char* name : names) {
    if (line.find(" " + std::string(name) + " ") == std::string::npos) return false;
  }
  return true;
}

TEST(Instructions, AreThoseThatTheKernelLists) {
  if (!ReadSmallFile("/proc/cpuinfo")) GTEST_SKIP() << "no /proc/cpuinfo here";
  EXPECT_EQ(CpuHasAvx2(), Listed({"avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "popcnt"}));
  EXPECT_EQ(CpuHasAvx512(),
            CpuHasAvx2() && Listed({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi",
                                    "avx512_vbmi2", "avx512_vpopcntdq"}));
}

}  // namespace
}  // namespace penstock
