#include "runtime/cpu/affinity.h"

#include <thread>

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Affinity, PinsOneThread) {
  const CpuSet allowed = *AllowedCpus();
  ASSERT_FALSE(allowed.empty());
  std::thread([&] {
    const CpuSet last{{allowed.cpus.back()}};
    ASSERT_TRUE(PinThisThread(last));
    EXPECT_EQ(*AllowedCpus(), last);
  }).join();
  EXPECT_EQ(*AllowedCpus(), allowed);
}

TEST(Affinity, RefusesCpusThatAreNotOurs) {
  const CpuSet allowed{{0, 2}};
  EXPECT_EQ(ChooseCpus("--cpus-compute", "", allowed)->cpus, allowed.cpus);
  EXPECT_EQ(ChooseCpus("--cpus-compute", "2", allowed)->cpus, (std::vector<unsigned>{2}));
  const auto refused = ChooseCpus("--cpus-compute", "1-2", allowed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  for (const char* part : {"cpus-compute", "1-2", "0,2"}) {
    EXPECT_NE(refused.error().message.find(part), std::string::npos);
  }
  EXPECT_FALSE(ChooseCpus("--cpus-compute", "x", allowed));
}

TEST(Affinity, PinningToCpusThatDoNotExistFails) {
  std::thread([] { EXPECT_FALSE(PinThisThread(CpuSet{{kMaxCpuId}})); }).join();
}

TEST(Affinity, SliceIsGrantedOrSaidToBeRefused) {
  std::thread([] {
    if (const auto granted = RequestSlice(kIoThreadSlice); !granted) {
      EXPECT_EQ(granted.error().code, ErrorCode::kFailed);
      EXPECT_FALSE(granted.error().message.empty());
    }
  }).join();
}

}  // namespace
}  // namespace penstock
