#include "models/k3/experts/routes.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock::k3 {
namespace {

const std::string kHeader = RoutesLine(RoutesHeader{4, 8, 2, 100, "abc"});

Result<Routes> Parsed(const std::string& text) {
  const std::string path =
      testing::TempDir() + "penstock_routes_" + std::to_string(getpid()) + ".jsonl";
  std::ofstream(path) << text;
  Result<Routes> routes = ReadRoutes(path);
  unlink(path.c_str());
  return routes;
}

TEST(Routes, WhatIsWrittenIsRead) {
  const std::vector<uint32_t> chosen = {7, 0};
  const std::vector<uint32_t> next = {3};
  const auto routes = Parsed(
      kHeader + RoutesLine(Route{0, 5, 1, chosen, next}) + RoutesLine(Route{0, 5, 3, chosen, {}}) +
      RoutesLine(Route{0, 6, 1, next, chosen}) + RoutesLine(Route{1, 6, 1, next, chosen}));
  ASSERT_TRUE(routes.has_value()) << routes.error().message;
  EXPECT_EQ(routes->header.layers, 4u);
  EXPECT_EQ(routes->header.experts, 8u);
  EXPECT_EQ(routes->header.top_k, 2u);
  EXPECT_EQ(routes->header.expert_bytes, 100u);
  EXPECT_EQ(routes->header.checkpoint_id, "abc");
  ASSERT_EQ(routes->routes.size(), 4u);
  EXPECT_EQ(routes->routes[0].chosen, chosen);
  EXPECT_EQ(routes->routes[0].next, next);
  EXPECT_EQ(routes->routes[1].layer, 3u);
  EXPECT_TRUE(routes->routes[1].next.empty());
  EXPECT_EQ(routes->routes[1].position, 5u);
  EXPECT_EQ(routes->routes[2].n, 0u);
  EXPECT_EQ(routes->routes[2].position, 6u);
  EXPECT_EQ(routes->routes[3].n, 1u);
  EXPECT_EQ(routes->routes[3].position, 6u);
}

TEST(Routes, WithoutPositionsStepsTookOneEach) {
  const auto routes = Parsed(kHeader + R"({"n":7,"layer":1,"chosen":[1,2],"next":[]})");
  ASSERT_TRUE(routes.has_value()) << routes.error().message;
  ASSERT_EQ(routes->routes.size(), 1u);
  EXPECT_EQ(routes->routes[0].n, 7u);
  EXPECT_EQ(routes->routes[0].position, 7u);
}

TEST(Routes, ComeByStepThenPositionThenLayer) {
  const auto line = [](uint64_t n, uint64_t position, uint32_t layer) {
    return RoutesLine(Route{n, position, layer, {1}, {}});
  };
  const std::string last = kHeader + line(2, 6, 2);
  for (const std::string& next : {line(2, 6, 3), line(2, 7, 0), line(3, 0, 0)}) {
    EXPECT_TRUE(Parsed(last + next).has_value()) << next;
  }
  for (const std::string& next : {line(2, 6, 2), line(2, 6, 1), line(2, 5, 3), line(1, 7, 3)}) {
    EXPECT_FALSE(Parsed(last + next).has_value()) << next;
  }
}

TEST(Routes, OnlyRegularFilesAreRead) {
  for (const char* path : {"/dev/zero", "/tmp"}) {
    const auto routes = ReadRoutes(path);
    ASSERT_FALSE(routes) << path;
    EXPECT_EQ(ExitCode(routes.error()), 2);
  }
}

TEST(Routes, LinesThatTheHeaderDoesNotAllowAreRefused) {
  const std::string good = R"({"n":0,"layer":1,"chosen":[1,2],"next":[]})";
  ASSERT_TRUE(Parsed(kHeader + good).has_value());
  for (const std::string& bad :
       {std::string(),
        std::string("x"),
        std::string("[]"),
        good,
        std::string(R"({"schema":"penstock.event.v1","layers":4,"experts":8,"top_k":2})"),
        std::string(R"({"schema":"penstock.routes.v1","layers":4,"experts":8,"top_k":9})"),
        std::string(R"({"schema":"penstock.routes.v1","layers":0,"experts":8,"top_k":2})"),
        std::string(R"({"schema":"penstock.routes.v1","layers":4096,"experts":65536,"top_k":2})"),
        std::string(R"({"schema":"penstock.routes.v1","layers":-4,"experts":8,"top_k":2})"),
        std::string(R"({"schema":"penstock.routes.v1","layers":4e9,"experts":8,"top_k":2})"),
        kHeader + R"({"n":0,"layer":4,"chosen":[1],"next":[]})",
        kHeader + R"({"n":0,"layer":1,"chosen":[8],"next":[]})",
        kHeader + R"({"n":0,"layer":1,"chosen":[-1],"next":[]})",
        kHeader + R"({"n":0,"layer":1,"chosen":[1,1],"next":[]})",
        kHeader + R"({"n":0,"layer":1,"chosen":[1,2,3],"next":[]})",
        kHeader + R"({"n":0,"layer":1,"chosen":[],"next":[]})",
        kHeader + R"({"n":0,"layer":1,"chosen":[1]})",
        kHeader + R"({"layer":1,"chosen":[1],"next":[]})",
        kHeader + R"({"position":0,"layer":1,"chosen":[1],"next":[]})",
        kHeader + R"({"n":0,"position":-1,"layer":1,"chosen":[1],"next":[]})",
        kHeader + good + "\n" + good,
        kHeader + "\n"}) {
    const auto routes = Parsed(bad);
    ASSERT_FALSE(routes.has_value()) << bad;
    EXPECT_EQ(routes.error().code, ErrorCode::kRefused) << bad;
  }
  EXPECT_FALSE(ReadRoutes("/no/such/file").has_value());
}

}  // namespace
}  // namespace penstock::k3
