#include "runtime/memory/region.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace penstock {
namespace {

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool HugePagesOffered() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  return line.find("[madvise]") != std::string::npos || line.find("[always]") != std::string::npos;
}

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

TEST(HugeRegion, StartsAtAHugePageAndIsZeroed) {
  for (size_t bytes : {size_t{1}, size_t{4096}, kHugePageBytes - 1, kHugePageBytes * 3 + 5}) {
    auto region = HugeRegion::Map(bytes);
    ASSERT_TRUE(region);
    EXPECT_EQ(Address(region->data()) % kHugePageBytes, 0u);
    EXPECT_EQ(region->size(), bytes);
    for (size_t at = 0; at < bytes; at += 1021) ASSERT_EQ(region->data()[at], std::byte{0});
    std::memset(region->data(), 0x5a, bytes);
    EXPECT_EQ(region->data()[bytes - 1], std::byte{0x5a});
  }
}

TEST(HugeRegion, TouchKeepsWhatWasWrittenAndMakesAllOfItResident) {
  const size_t bytes = 64 << 20;
  auto region = HugeRegion::Map(bytes);
  ASSERT_TRUE(region);
  region->data()[12345] = std::byte{7};
  const size_t before = ResidentBytes();
  region->Touch();
  EXPECT_EQ(region->data()[12345], std::byte{7});
  // One huge page may have been there before.
  EXPECT_GE(ResidentBytes(), before + bytes - 2 * kHugePageBytes);
}

TEST(HugeRegion, ResidentBytesNeverExceedTheSizeByAHugePage) {
  const size_t bytes = kHugePageBytes + 4096;
  auto region = HugeRegion::Map(bytes);
  ASSERT_TRUE(region);
  region->Touch();
  EXPECT_LE(region->HugeBytes(), kHugePageBytes);
}

TEST(HugeRegion, ReportsTheHugePagesItGot) {
  if (!HugePagesOffered()) GTEST_SKIP() << "transparent huge pages are off on this machine";
  auto neighbour = HugeRegion::Map(8 * kHugePageBytes);
  auto region = HugeRegion::Map(8 * kHugePageBytes);
  ASSERT_TRUE(neighbour);
  ASSERT_TRUE(region);
  EXPECT_EQ(region->HugeBytes(), 0u);
  neighbour->Touch();
  EXPECT_EQ(region->HugeBytes(), 0u);  // The neighbour's pages are not counted as its own.
  region->Touch();
  EXPECT_EQ(region->HugeBytes() % kHugePageBytes, 0u);
  EXPECT_GT(region->HugeBytes(), 0u);
  EXPECT_LE(region->HugeBytes(), region->size());
}

TEST(HugeRegion, RefusesWhatNoMachineHas) {
  EXPECT_FALSE(HugeRegion::Map(SIZE_MAX));
  EXPECT_FALSE(HugeRegion::Map(SIZE_MAX / 2));
}

TEST(HugeRegion, MovesItsMemory) {
  auto region = HugeRegion::Map(4096);
  ASSERT_TRUE(region);
  std::byte* data = region->data();
  HugeRegion moved = std::move(*region);
  EXPECT_EQ(moved.data(), data);
  moved = HugeRegion();
  EXPECT_EQ(moved.data(), nullptr);
}

TEST(FaultHugeRegion, AnOverrunStopsAtTheGuardPage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto region = HugeRegion::Map(4096);
  ASSERT_TRUE(region);
  volatile std::byte* data = region->data();
  EXPECT_DEATH(data[4096] = std::byte{1}, "");
  EXPECT_DEATH(data[-1] = std::byte{1}, "");
}

TEST(AllocateBuffer, KeepsItsMemoryUntilTheLastReference) {
  auto buffer = AllocateBuffer(100000);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->size(), 100000u);
  std::memset(buffer->data(), 3, buffer->size());
  BufferRef part = std::move(*buffer).Freeze().Slice(99990, 10);
  EXPECT_EQ(part.data()[9], std::byte{3});
}

}  // namespace
}  // namespace penstock
