#include "models/k3/config/options.h"

#include <gtest/gtest.h>

#include "runtime/options/options.h"

namespace penstock::k3 {
namespace {

TEST(ParsePin, TellsLayersFromBytes) {
  EXPECT_EQ(ParsePin("0")->layers, 0u);
  EXPECT_EQ(ParsePin("4")->layers, 4u);
  EXPECT_EQ(ParsePin("4")->bytes, 0u);
  EXPECT_EQ(ParsePin("2G")->bytes, uint64_t{2} << 30);
  EXPECT_EQ(ParsePin("2G")->layers, 0u);
  EXPECT_EQ(ParsePin("512B")->bytes, 512u);
  EXPECT_FALSE(ParsePin("0")->automatic);
  EXPECT_TRUE(ParsePin("auto")->automatic);
  for (const char* text : {"", "all", "-1", "4.5", "1e3"}) {
    EXPECT_FALSE(ParsePin(text)) << text;
  }
}

TEST(PipelineOptions, RangesHold) {
  PipelineOptions options;
  OptionSet rows;
  rows.Add("", options);
  EXPECT_FALSE(rows.Find("extent")->assign("512k"));
  EXPECT_FALSE(rows.Find("extent")->assign("65M"));
  EXPECT_TRUE(rows.Find("extent")->assign("64M"));
  EXPECT_FALSE(rows.Find("isa")->assign("sse"));
  EXPECT_EQ(options.extent.bytes, 64 * kMiB);
  EXPECT_EQ(rows.Find("memory")->value(), "auto");
  EXPECT_TRUE(rows.Find("memory")->assign("64M"));
  EXPECT_EQ(options.memory.bytes, 64 * kMiB);
  for (const char* text : {"0", "auto"}) {
    EXPECT_TRUE(rows.Find("memory")->assign(text)) << text;
    EXPECT_EQ(options.memory.bytes, 0u);
  }
  EXPECT_FALSE(rows.Find("memory")->assign("automatic"));
}

}  // namespace
}  // namespace penstock::k3
