#include "models/k3/pack/stripe_flow.h"

#include <fstream>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

constexpr size_t kStripes = 40;
constexpr size_t kStripeBytes = 5000;

// Stripe i is kStripeBytes bytes of value i; the job notes what it sees.
class CountingJob : public StripeJob {
 public:
  std::vector<io::Extent> Reads(size_t i) const override {
    return {{0, i * kStripeBytes, kStripeBytes}, {0, (kStripes - 1 - i) * kStripeBytes, 10}};
  }
  Status Work(size_t i, size_t slot, std::span<const BufferRef> bytes) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(busy_.insert(slot).second) << "a slot is one stripe's alone";
    EXPECT_EQ(bytes.size(), 2u);
    EXPECT_EQ(bytes[0].size(), kStripeBytes);
    EXPECT_EQ(std::to_integer<size_t>(bytes[0].data()[kStripeBytes - 1]), i);
    EXPECT_EQ(std::to_integer<size_t>(bytes[1].data()[0]), kStripes - 1 - i);
    if (i < fails_at) return {};
    return Unsound("stripe " + std::to_string(i));  // And every one behind it.
  }
  Status End(size_t i, size_t slot) override {
    const std::lock_guard lock(mutex_);
    busy_.erase(slot);
    ended.push_back(i);
    return {};
  }

  size_t fails_at = ~size_t{0};
  std::vector<size_t> ended;

 private:
  std::mutex mutex_;
  std::set<size_t> busy_;
};

struct StripesFixture {
  explicit StripesFixture(const std::string& fault = {}) {
    const std::string path = folder.File("stripes");
    std::ofstream file(path, std::ios::binary);
    for (size_t i = 0; i < kStripes; ++i) file << std::string(kStripeBytes, static_cast<char>(i));
    file.close();
    io::IoOptions options;
    options.fault = fault;
    reader = *io::MakeReader(options, std::vector<std::string>{path}, {}, nullptr);
  }
  PackFolder folder;
  std::unique_ptr<io::Reader> reader;
};

TEST(StripeFlow, EveryStripeIsWorkedOnAndEndedInOrder) {
  StripesFixture fixture;
  for (const size_t slots : {1, 2, 3, 64}) {
    for (const size_t first : {0, 7}) {
      CountingJob job;
      ASSERT_TRUE(RunStripes(job, first, kStripes, *fixture.reader,
                             {.threads = 3, .slots = slots, .stop = {}})
                      .has_value());
      ASSERT_EQ(job.ended.size(), kStripes - first);
      for (size_t i = 0; i < job.ended.size(); ++i) EXPECT_EQ(job.ended[i], first + i);
    }
  }
  CountingJob nothing;
  EXPECT_TRUE(RunStripes(nothing, 5, 5, *fixture.reader, {}).has_value());
}

TEST(StripeFlow, TheFirstErrorEndsItAndNothingBehindIsEnded) {
  StripesFixture fixture;
  CountingJob job;
  job.fails_at = 12;
  const Status ran =
      RunStripes(job, 0, kStripes, *fixture.reader, {.threads = 2, .slots = 5, .stop = {}});
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().code, ErrorCode::kUnsound);
  EXPECT_EQ(ran.error().message, "stripe 12") << "whichever was worked on first";
  EXPECT_EQ(job.ended.size(), 12u);
}

TEST(FaultStripeFlow, AReadErrorEndsIt) {
  StripesFixture fixture("eio@31");
  CountingJob job;
  const Status ran =
      RunStripes(job, 0, kStripes, *fixture.reader, {.threads = 2, .slots = 5, .stop = {}});
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().code, ErrorCode::kFailed);
  EXPECT_LT(job.ended.size(), kStripes);
}

TEST(StripeFlow, StopsBetweenTwoStripes) {
  StripesFixture fixture;
  CountingJob job;
  const Status ran =
      RunStripes(job, 0, kStripes, *fixture.reader,
                 {.threads = 2, .slots = 4, .stop = [&job] { return job.ended.size() == 9; }});
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(job.ended.size(), 9u);
}

TEST(StripeFlow, SlotsFollowThreadsAndMemory) {
  EXPECT_EQ(SlotsFor(2, kMiB, kGiB), 6u);
  EXPECT_EQ(SlotsFor(8, 100 * kMiB, 384 * kMiB), 3u);
  EXPECT_EQ(SlotsFor(8, 500 * kMiB, 384 * kMiB), 1u);
}

}  // namespace
}  // namespace penstock::k3
