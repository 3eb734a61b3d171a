#include "runtime/result.h"

#include <memory>

#include <gtest/gtest.h>

namespace penstock {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Refused("odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  PENSTOCK_TRY(const int half, Half(value));
  PENSTOCK_TRY(const int quarter, Half(half));
  return quarter;
}

Status IsEven(int value) {
  PENSTOCK_TRY_VOID([&]() -> Status {
    if (value % 2 != 0) return Unsound("odd", "step 3");
    return {};
  }());
  return {};
}

TEST(Result, PassesErrorsOn) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).error().message, "odd");
  EXPECT_TRUE(IsEven(2));
  EXPECT_EQ(IsEven(1).error().where, "step 3");
}

TEST(Result, CarriesWhatCanOnlyMove) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, ErrorsHaveExitCodes) {
  EXPECT_EQ(ExitCode(Failed("")), 1);
  EXPECT_EQ(ExitCode(Refused("")), 2);
  EXPECT_EQ(ExitCode(Unsound("")), 4);
  EXPECT_EQ(ExitCode(Cancelled("")), 130);
}

}  // namespace
}  // namespace penstock
