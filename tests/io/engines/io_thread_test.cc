#include "io/engines/io_thread.h"

#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "io/options.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

TEST(IoThreads, StayOnTheirCpus) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) last = CPU_ISSET(cpu, &allowed) ? cpu : last;
  const RandomFile file(100'000, 7);
  for (const char* engine : {"io_uring", "pread", "memory"}) {
    IoOptions options = OptionsOf(engine);
    options.cpus_io = std::to_string(last);
    Notices notices;
    auto reader = MakeReader(options, std::vector{file.path()}, {}, notices.Sink());
    ASSERT_TRUE(reader);
    EXPECT_EQ(notices.Count("not pinned"), 0u) << notices.All();
    cpu_set_t seen;
    CPU_ZERO(&seen);
    std::promise<void> read;
    const Extent extent{0, 0, 1000};
    (*reader)->Read(extent, BufferFor(**reader, extent), ReadClass::kTrunk,
                    [&](Result<BufferRef> result) {
                      EXPECT_TRUE(result);
                      EXPECT_EQ(sched_getaffinity(0, sizeof seen, &seen), 0);
                      read.set_value();
                    });
    read.get_future().wait();
    EXPECT_EQ(CPU_COUNT(&seen), 1) << engine;
    EXPECT_TRUE(CPU_ISSET(last, &seen)) << engine;
  }
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  EXPECT_TRUE(CPU_EQUAL(&mine, &allowed));  // The caller's own are left alone.
}

}  // namespace
}  // namespace penstock::io
