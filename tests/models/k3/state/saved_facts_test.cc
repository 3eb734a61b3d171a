#include "models/k3/state/saved_facts.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

SavedFacts SomeFacts() {
  SavedFacts facts;
  facts.owner = {ConfigDigest("{}"), "0123456789abcdef0123456789abcdef"};
  facts.shape = {2, 3, 4, 5, 6, 7};
  facts.position = 4;
  facts.sequence.ids = {0, 1, 4294967295, 3, 17};
  facts.sequence.prompt = 3;
  facts.sequence.settings = {{"temp", 0.8}, {"seed", 18446744073709551615u}, {"ignore", true}};
  facts.sequence.log_probabilities = {-0.1, -3.0};
  return facts;
}

TEST(SavedFacts, ReadBackAsWritten) {
  const SavedFacts facts = SomeFacts();
  const auto read = ParseFacts(FormatFacts(facts), "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->owner.config, facts.owner.config);
  EXPECT_EQ(read->owner.checkpoint_id, facts.owner.checkpoint_id);
  EXPECT_EQ(read->shape, facts.shape);
  EXPECT_EQ(read->position, 4u);
  EXPECT_EQ(read->sequence.ids, facts.sequence.ids);
  EXPECT_EQ(read->sequence.prompt, 3u);
  EXPECT_EQ(read->sequence.settings, facts.sequence.settings);
  EXPECT_EQ(read->sequence.log_probabilities, facts.sequence.log_probabilities);
}

TEST(SavedFacts, DoublesKeepTheirBits) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  SavedFacts facts = SomeFacts();
  facts.sequence.ids.resize(1003);
  std::vector<double>& values = facts.sequence.log_probabilities;
  values = {0.0,
            -0.0,
            -std::numeric_limits<double>::min(),
            -std::numeric_limits<double>::max(),
            -std::numeric_limits<double>::denorm_min(),
            -1.0,
            -6.9e38};
  while (values.size() < 1000) {
    values.push_back(-std::ldexp(static_cast<double>(random()), -static_cast<int>(random() % 90)));
  }
  const auto read = ParseFacts(FormatFacts(facts), "f");
  ASSERT_TRUE(read) << read.error().message;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint64_t>(read->sequence.log_probabilities[i]),
              std::bit_cast<uint64_t>(values[i]));
  }
}

// One member of good facts replaced by what it must not be.
TEST(SavedFacts, RefusesWhatIsNotWritten) {
  const Json good = Json::parse(FormatFacts(SomeFacts()));
  const std::pair<const char*, Json> wrong[] = {
      {"schema", "penstock.state.v0"},
      {"config", "0123"},
      {"config", "0123456789ABCDEF"},
      {"checkpoint_id", 7},
      {"checkpoint_id", "0123456789abcdef0123456789abcde/"},
      {"shape", Json::array()},
      {"shape", {{"kda_layers", 1}}},
      {"position", 0},
      {"position", 6},
      {"position", -1},
      {"position", 4.0},
      {"prompt", 0},
      {"prompt", 6},
      {"settings", 1},
      {"settings", {{"nested", Json::array()}}},
      {"settings", {{"nothing", nullptr}}},
      {"ids", {1, 2, 3, 4, 4294967296}},
      {"ids", {1, 2, 3, 4, -5}},
      {"ids", {1, 2, 3, 4, 5.0}},
      {"ids", {1, 2, 3}},
      {"ids", "1,2,3,4,5"},
      {"log_probabilities", {-1.0}},
      {"log_probabilities", {-1.0, nullptr}},
      {"log_probabilities", {-1.0, -2}},
      {"log_probabilities", {-1.0, 0.5}},
      {"more", 1}};
  ASSERT_TRUE(ParseFacts(good.dump(), "f"));
  for (const auto& [key, value] : wrong) {
    Json facts = good;
    facts[key] = value;
    const auto read = ParseFacts(facts.dump(), "some.state");
    ASSERT_FALSE(read) << facts.dump();
    EXPECT_EQ(read.error().code, ErrorCode::kRefused);
    EXPECT_NE(read.error().message.find("some.state"), std::string::npos);
  }
  for (const auto& item : good.items()) {
    Json facts = good;
    facts.erase(item.key());
    EXPECT_FALSE(ParseFacts(facts.dump(), "f")) << item.key();
  }
}

TEST(SavedFacts, RefusesOtherNotationsAndWhatIsNoJson) {
  const std::string good = FormatFacts(SomeFacts());
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("1e999"), good + " ",
        " " + good, good.substr(0, good.size() - 1), std::string(100'000, '['),
        "{\"schema\":\"penstock.state.v1\"," + good.substr(1)}) {
    EXPECT_FALSE(ParseFacts(text, "f")) << text.substr(0, 100);
  }
}

TEST(SavedFacts, EveryByteOfAConfigCounts) {
  EXPECT_EQ(ConfigDigest("{\"a\": 1}").size(), 16u);
  EXPECT_EQ(ConfigDigest("{\"a\": 1}"), ConfigDigest("{\"a\": 1}"));
  EXPECT_NE(ConfigDigest("{\"a\": 1}"), ConfigDigest("{\"a\": 2}"));
}

}  // namespace
}  // namespace penstock::k3
