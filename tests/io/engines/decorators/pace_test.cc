#include "io/engines/decorators/pace.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/options.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Pace, ReadsRateAndLatency) {
  EXPECT_EQ(ParsePace("3G")->bytes_per_second, 3 * kGiB);
  EXPECT_EQ(ParsePace("3G")->latency.ns, 0u);
  EXPECT_EQ(ParsePace("500M,100us")->latency.ns, 100'000u);
  EXPECT_EQ(ParsePace("")->bytes_per_second, 0u);
  for (const char* text : {"0", "1", "fast", ",", "3G,", "3G,5", "3G,2m", "3G,1ms,1ms", ",1ms"}) {
    const auto pace = ParsePace(text);
    ASSERT_FALSE(pace) << text;
    EXPECT_EQ(ExitCode(pace.error()), 2);
  }
}

TEST(Pace, BytesComeNoFasterThanTheRate) {
  const RandomFile file(4 << 20, 5);
  for (const char* engine : {"io_uring", "pread", "memory"}) {
    IoOptions options = OptionsOf(engine);
    options.pace = "40M,1ms";
    auto reader = MakeReader(options, std::vector{file.path()}, {}, {});
    ASSERT_TRUE(reader);
    Outcomes outcomes;
    const auto start = Clock::now();
    for (uint64_t i = 0; i < 4; ++i) {
      const Extent extent{0, i * kMiB, kMiB};
      (*reader)->Read(extent, BufferFor(**reader, extent), ReadClass::kDemanded, outcomes.Of(i));
    }
    ASSERT_TRUE(outcomes.WaitFor(4));
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(101));
    for (uint64_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(file.Holds(outcomes[i].bytes.data(), i * kMiB, kMiB));
    }
  }
}

TEST(Pace, StopDoesNotWaitForASlowDevice) {
  const RandomFile file(4 << 20, 6);
  IoOptions options = OptionsOf("memory");
  options.pace = "4k";
  auto reader = MakeReader(options, std::vector{file.path()}, {}, {});
  ASSERT_TRUE(reader);
  Outcomes outcomes;
  const Extent extent{0, 0, 4 << 20};
  (*reader)->Read(extent, BufferFor(**reader, extent), ReadClass::kTrunk, outcomes.Of(0));
  (*reader)->Stop();  // A thousand seconds at that pace.
  EXPECT_EQ(outcomes[0].calls, 1);
}

}  // namespace
}  // namespace penstock::io
