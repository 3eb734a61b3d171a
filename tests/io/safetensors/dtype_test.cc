#include "io/safetensors/dtype.h"

#include <string>

#include <gtest/gtest.h>

#include "io/safetensors/header.h"

namespace penstock::io {
namespace {

TEST(Dtype, EveryDtypeHasItsSizeAndSpelling) {
  for (int i = 0; i <= static_cast<int>(Dtype::kC64); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    EXPECT_EQ(DtypeOf(DtypeName(dtype)), dtype);
    const auto bytes = DtypeBytes(dtype);
    const auto header = ParseSafetensorsHeader(
        "{\"x\":{\"dtype\":\"" + std::string(DtypeName(dtype)) +
            "\",\"shape\":[3],\"data_offsets\":[0," + std::to_string(3 * bytes) + "]}}",
        3 * bytes, "f");
    EXPECT_TRUE(header) << DtypeName(dtype);
  }
  EXPECT_FALSE(DtypeOf("F4"));
  EXPECT_FALSE(DtypeOf(""));
}

}  // namespace
}  // namespace penstock::io
