#include "io/queue/extent_feed.h"

#include <cstring>

#include <gtest/gtest.h>

#include "io/options.h"
#include "tests/io/safetensors/shard.h"

namespace penstock::io {
namespace {

struct FeedFixture {
  explicit FeedFixture(const std::string& fault = {}) {
    for (size_t i = 0; i < 100'000; ++i) text += static_cast<char>(i * 7 % 251);
    scratch.Write("f", text);
    IoOptions options;
    options.ioengine = "pread";
    options.fault = fault;
    const std::vector<std::string> paths = {scratch.File("f")};
    reader = *MakeReader(options, paths, {}, nullptr);
  }

  std::vector<Extent> Pieces(size_t bytes) const {
    std::vector<Extent> out;
    for (size_t at = 0; at < text.size(); at += bytes) {
      out.push_back({0, at, std::min(bytes, text.size() - at)});
    }
    return out;
  }

  ScratchDirectory scratch;
  std::string text;
  std::unique_ptr<Reader> reader;
};

TEST(ExtentFeed, GivesBytesInOrder) {
  FeedFixture f("reorder=1ms,seed=5");
  for (const size_t depth : {1u, 3u, 64u}) {
    auto feed = ExtentFeed::Make(*f.reader, 5001, depth);
    ASSERT_TRUE(feed);
    for (int again = 0; again < 2; ++again) {
      std::string got;
      size_t next = 0;
      const Status done =
          feed->Run(f.Pieces(5001), [&](size_t i, std::span<const std::byte> bytes) -> Status {
            EXPECT_EQ(i, next++);
            got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            return {};
          });
      ASSERT_TRUE(done) << done.error().message;
      EXPECT_EQ(got, f.text);
    }
    EXPECT_TRUE(feed->Run({}, nullptr));
  }
}

TEST(ExtentFeed, StopsAtTheTakersError) {
  FeedFixture f;
  auto feed = ExtentFeed::Make(*f.reader, 1000, 4);
  size_t taken = 0;
  const Status done = feed->Run(f.Pieces(1000), [&](size_t i, auto) -> Status {
    ++taken;
    if (i == 5) return Cancelled("enough");
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(taken, 6u);
}

TEST(FaultExtentFeed, ReportsAFailedRead) {
  FeedFixture f("eio@7");
  auto feed = ExtentFeed::Make(*f.reader, 1000, 4);
  size_t taken = 0;
  const Status done = feed->Run(f.Pieces(1000), [&](size_t, auto) -> Status {
    ++taken;
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kFailed);
  EXPECT_NE(done.error().message.find(f.scratch.File("f")), std::string::npos);
  EXPECT_LT(taken, 100u);
}

}  // namespace
}  // namespace penstock::io
