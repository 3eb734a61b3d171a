#include "models/k3/bench/kernels/accuracy.h"

#include <gtest/gtest.h>

#include "ops/isa.h"

namespace penstock::k3 {
namespace {

TEST(NumericKernelAccuracy, ExactProductsAndTheLossyOneAreToldApart) {
  for (size_t cols : {3072, 3584}) {
    EXPECT_LT(Mxfp4Error(Mxfp4PlainDouble, cols), 6e-8);  // One rounding to f32.
    if (Mxfp4TableLookup() != nullptr) {
      EXPECT_LT(Mxfp4Error(Mxfp4TableLookup(), cols), 5e-8);
    }
    if (Mxfp4RoundedToInt8() != nullptr) {
      const double lossy = Mxfp4Error(Mxfp4RoundedToInt8(), cols);
      EXPECT_GT(lossy, 1e-5);
      EXPECT_LT(lossy, 5e-3);
    }
  }
}

TEST(NumericKernelAccuracy, EveryInstructionSetKeepsThePromise) {
  for (const ops::Kernels* kernels : ops::KernelsHere()) {
    for (size_t cols : {3072, 3584}) {
      const double error = Mxfp4Error(*kernels, cols);
      EXPECT_LT(error, 5e-8) << kernels->name;
      EXPECT_EQ(error, Mxfp4Error(ops::ScalarKernels(), cols)) << kernels->name;
    }
  }
}

}  // namespace
}  // namespace penstock::k3
