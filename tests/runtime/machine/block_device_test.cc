#include "runtime/machine/block_device.h"

#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock {
namespace {

TEST(BlockDevice, HasNoneBelowProc) {
  EXPECT_FALSE(FindBlockDevice("/proc/self/status"));
  EXPECT_FALSE(FindBlockDevice("/nonexistent"));
}

TEST(DiskBlockDevice, CountsWhatIsRead) {
  const std::string path = ::testing::TempDir() + "block_device_test.bin";
  const int out = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  const std::vector<char> block(1 << 20, 'x');
  ASSERT_EQ(::write(out, block.data(), block.size()), 1 << 20);
  ::fsync(out);
  ::close(out);
  const auto device = FindBlockDevice(path);
  if (!device) GTEST_SKIP() << device.error().message;
  const int in = ::open(path.c_str(), O_RDONLY | O_DIRECT);
  if (in < 0) GTEST_SKIP() << "no direct I/O on the file system of " << path;
  void* buffer = nullptr;
  ASSERT_EQ(::posix_memalign(&buffer, 4096, 1 << 20), 0);
  const uint64_t before = *ReadDeviceBytes(*device);
  ASSERT_EQ(::read(in, buffer, 1 << 20), 1 << 20);
  EXPECT_GE(*ReadDeviceBytes(*device), before + (1 << 20));
  std::free(buffer);
  ::close(in);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace penstock
