#include "runtime/machine/facts.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(MachineFacts, KnowsThisMachine) {
  const MachineFacts facts = ReadMachineFacts(PENSTOCK_SOURCE_DIR);
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_FALSE(facts.cpus.empty());
  EXPECT_GT(facts.memory_bytes, 0u);
  const Json json = ToJson(facts);
  for (const char* key : {"cpu", "cpus", "kernel", "huge_pages", "memory_bytes", "cgroup_cpus",
                          "cgroup_memory_bytes", "device"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

}  // namespace
}  // namespace penstock
