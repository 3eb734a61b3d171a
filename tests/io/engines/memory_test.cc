#include "io/engines/memory.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "io/options.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

TEST(MemoryEngine, ServesViewsOfItsImage) {
  const RandomFile file(300'000, 2);
  auto reader = MakeReader(OptionsOf("memory"), std::vector{file.path()}, {}, {});
  ASSERT_TRUE(reader);
  Outcomes outcomes;
  const Extent extent{0, 10'000, 200'000};
  MutableBuffer buffer = BufferFor(**reader, extent);
  const std::byte* own = buffer.data();
  (*reader)->Read(extent, std::move(buffer), ReadClass::kTrunk, outcomes.Of(0));
  (*reader)->Read(extent, BufferFor(**reader, extent), ReadClass::kTrunk, outcomes.Of(1));
  ASSERT_TRUE(outcomes.WaitFor(2));
  EXPECT_EQ(outcomes[0].bytes.data(), outcomes[1].bytes.data());
  EXPECT_EQ(own[0], std::byte{0});  // The caller's buffer was never written.
  EXPECT_TRUE(file.Holds(outcomes[0].bytes.data(), extent.offset, extent.bytes));
}

TEST(FaultMemoryEngine, RefusesFilesThatDoNotFit) {
  const RandomFile file(10, 3);
  ASSERT_EQ(truncate(file.path().c_str(), off_t{1} << 43), 0);  // 8 TiB, sparse.
  auto reader = MakeReader(OptionsOf("memory"), std::vector{file.path()}, {}, {});
  ASSERT_FALSE(reader);
  EXPECT_EQ(ExitCode(reader.error()), 2);
}

TEST(FaultMemoryEngine, AFileThatShrankIsAnError) {
  const RandomFile file(100'000, 4);
  auto files = FileSet::Open(std::vector{file.path()}, DirectMode::kAuto, {});
  ASSERT_TRUE(files);
  ASSERT_EQ(truncate(file.path().c_str(), 50'000), 0);
  auto reader = MakeReader(OptionsOf("memory"), std::move(*files), {}, {});
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().message.find(file.path()), std::string::npos);
}

}  // namespace
}  // namespace penstock::io
