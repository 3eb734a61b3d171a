#include "models/k3/bench/kernels/arms.h"

#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "runtime/size.h"

namespace penstock::k3 {
namespace {

TEST(KernelArms, EveryArmOfATinyMemoryRuns) {
  const KernelSetting setting{.kernels = {"mxfp4", "bf16", "kda", "attention"},
                              .chosen = ops::KernelsHere(),
                              .bytes = 256 * kKiB};
  const auto arms = KernelArms::Make(setting);
  ASSERT_TRUE(arms) << arms.error().message;
  std::set<std::string> names;
  size_t of_kernels = 0;
  for (const KernelArm& arm : (*arms)->arms()) {
    names.insert(arm.row.kernel);
    of_kernels += arm.row.isa.empty() ? 0 : 1;
    EXPECT_GT(arm.row.bytes, 0u);
    arm.work();
    arm.work();
  }
  for (const char* name : {"read-1", "read-4", "read-8", "memcpy", "mxfp4", "mxfp4-plain", "bf16",
                           "bf16-eigen", "kda", "attention"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  // Two shapes of two matrices with one and four vectors, and two more.
  EXPECT_EQ(of_kernels, setting.chosen.size() * (2 * 2 * 2 + 2));
}

TEST(KernelArms, OnlyWhatWasAskedFor) {
  const KernelSetting setting{
      .kernels = {"kda"}, .chosen = {&ops::ScalarKernels()}, .bytes = 256 * kKiB};
  const auto arms = KernelArms::Make(setting);
  ASSERT_TRUE(arms);
  ASSERT_EQ((*arms)->arms().size(), 5u);
  const KernelRow& row = (*arms)->arms().back().row;
  EXPECT_EQ(row.kernel, "kda");
  EXPECT_EQ(row.shape, "2x128x128");  // Half of the memory.
  EXPECT_EQ(row.bytes, 2u * 2 * 128 * 128 * 4);
}

}  // namespace
}  // namespace penstock::k3
