#include "models/k3/plan/calibrate.h"

#include <gtest/gtest.h>

#include "ops/isa.h"
#include "runtime/cpu/affinity.h"

namespace penstock::k3 {
namespace {

TEST(Calibrate, MeasuresEveryKernelOnTheCpusItIsGiven) {
  const CpuSet before = *AllowedCpus();
  MachineRates unknown;
  unknown.bf16 = unknown.mxfp4 = unknown.state = unknown.memory = 0;
  unknown.cores = 3;
  const ops::Kernels* kernels = *ops::ChooseKernels("auto", nullptr);
  const auto rates = Calibrate(unknown, {{before.cpus[0]}}, *kernels, 8 * kMiB);
  ASSERT_TRUE(rates.has_value()) << rates.error().message;
  // Between a MB and a TB a second: right in unit and order.
  for (const double rate : {rates->bf16, rates->mxfp4, rates->state, rates->memory}) {
    EXPECT_GT(rate, 1e6);
    EXPECT_LT(rate, 1e12);
  }
  EXPECT_GE(rates->memory, rates->bf16);
  EXPECT_EQ(rates->cores, 3u);
  EXPECT_EQ(*AllowedCpus(), before) << "the calling thread is left where it was";
}

}  // namespace
}  // namespace penstock::k3
