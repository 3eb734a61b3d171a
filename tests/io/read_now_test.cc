#include "io/read_now.h"

#include <gtest/gtest.h>

#include "io/options.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

std::unique_ptr<Reader> Open(const RandomFile& file, const std::string& pace,
                             const std::string& fault = {}) {
  IoOptions options;
  options.ioengine = "pread";
  options.pace = pace;
  options.fault = fault;
  return *MakeReader(options, std::vector{file.path()}, {}, {});
}

std::vector<Placed> Places(Reader& reader, uint64_t bytes, uint64_t each) {
  std::vector<Placed> all;
  for (uint64_t at = 0; at + each <= bytes; at += each) {
    const Extent extent{0, at, each};
    all.push_back({extent, BufferFor(reader, extent)});
  }
  return all;
}

TEST(ReadMany, BringsAllInTheirOrderAtAnyDepth) {
  const RandomFile file(1 << 20, 3);
  for (const size_t depth : {1, 3, 100}) {
    const auto reader = Open(file, "");
    uint64_t last = 0;
    const auto bytes =
        ReadMany(*reader, Places(*reader, 1 << 20, 50'000), depth, [&](uint64_t done) {
          EXPECT_GE(done, last);
          last = done;
          return true;
        });
    ASSERT_TRUE(bytes);
    ASSERT_EQ(bytes->size(), 20u);
    for (uint64_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(file.Holds((*bytes)[i].data(), i * 50'000, 50'000)) << i;
    }
  }
}

TEST(ReadMany, NothingIsNothing) {
  const RandomFile file(4096, 3);
  const auto reader = Open(file, "");
  const auto bytes = ReadMany(*reader, {}, 4, {});
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(bytes->empty());
}

TEST(ReadMany, EndsWhenItIsToldTo) {
  const RandomFile file(1 << 20, 4);
  const auto reader = Open(file, "1M");
  const auto bytes =
      ReadMany(*reader, Places(*reader, 1 << 20, 65536), 2, [](uint64_t) { return false; });
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kCancelled);
  EXPECT_LT(reader->counters().payload_bytes, uint64_t{1} << 20);
}

TEST(FaultReadMany, TheErrorOfAReadIsTheResult) {
  const RandomFile file(1 << 20, 5);
  const auto reader = Open(file, "", "eio@5");
  EXPECT_FALSE(ReadMany(*reader, Places(*reader, 1 << 20, 65536), 3, {}));
}

}  // namespace
}  // namespace penstock::io
