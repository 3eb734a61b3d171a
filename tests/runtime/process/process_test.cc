#include "runtime/process/process.h"

#include <cstring>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace penstock {
namespace {

TEST(Process, CountsTouchedMemory) {
  constexpr size_t kBytes = size_t{64} << 20;
  const ProcessMemory before = *ReadProcessMemory();
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  const ProcessMemory during = *ReadProcessMemory();
  ::munmap(memory, kBytes);
  const ProcessMemory after = *ReadProcessMemory();
  EXPECT_GE(during.rss_bytes, before.rss_bytes + kBytes / 2);
  EXPECT_LE(after.rss_bytes, during.rss_bytes - kBytes / 2);
  // The kernel counts pages in batches for each CPU, so that the two may differ a little.
  EXPECT_GE(after.peak_rss_bytes + kBytes / 8, during.rss_bytes);
}

TEST(Process, ReadBytesNeverFall) {
  const auto first = ReadProcessReadBytes();
  if (!first) GTEST_SKIP() << first.error().message;
  EXPECT_GE(*ReadProcessReadBytes(), *first);
}

}  // namespace
}  // namespace penstock
