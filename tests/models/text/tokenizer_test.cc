#include "models/text/tokenizer.h"

#include <atomic>
#include <random>
#include <thread>

#include "models/text/encoding/utf8.h"
#include "tests/models/text/tiny_tokenizer.h"

namespace penstock::text {
namespace {

using Ids = std::vector<TokenId>;

Ids Encode(std::string_view text) {
  auto ids = TinyTokenizer().Encode(text);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : Ids{};
}

TEST(Tokenizer, EncodesTheExamplesOfTheEmbeddedCheckpoint) {
  const auto cases = TinyJson("k3-tiny-tokenizer.json").at("encode");
  ASSERT_EQ(cases.size(), 14u);
  for (const auto& c : cases) {
    const auto text = c.at("text").get<std::string>();
    EXPECT_EQ(Encode(text), c.at("ids").get<Ids>()) << text;
    EXPECT_EQ(TinyTokenizer().Decode(c.at("ids").get<Ids>()), text);
  }
}

TEST(Tokenizer, EncodesTheSegmentsOfTheChatExamples) {
  const auto cases = TinyJson("k3-tiny-tokenizer.json").at("chat");
  ASSERT_EQ(cases.size(), 9u);
  for (const auto& c : cases) {
    std::vector<Segment> segments;
    for (const auto& s : c.at("segments")) {
      segments.push_back({s.at(0).get_ref<const std::string&>(), s.at(1).get<bool>()});
    }
    const auto ids = TinyTokenizer().EncodeSegments(segments);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, c.at("ids").get<Ids>());
  }
}

TEST(Tokenizer, EncodesThePromptsAndDecodesTheContinuations) {
  const auto prompts = TinyJson("k3-tiny-expected.json").at("prompts");
  ASSERT_EQ(prompts.size(), 5u);
  size_t plain = 0;
  for (const auto& p : prompts) {
    const auto text = p.at("text").get<std::string>();
    EXPECT_EQ(TinyTokenizer().Decode(p.at("ids").get<Ids>()), text);
    EXPECT_EQ(TinyTokenizer().Decode(p.at("greedy").get<Ids>()),
              p.at("greedy_text").get<std::string>());
    // A rendered chat has control tokens, which plain text never yields.
    if (text.find("<|open|>") != text.npos) continue;
    EXPECT_EQ(Encode(text), p.at("ids").get<Ids>()) << text;
    ++plain;
  }
  EXPECT_EQ(plain, 4u);
}

TEST(Tokenizer, NeverYieldsASpecialIdFromText) {
  const auto& vocabulary = TinyTokenizer().vocabulary();
  for (TokenId id = 1792; id < 2048; ++id) {
    const std::string spelling = TinyTokenizer().Bytes(id);
    EXPECT_EQ(TinyTokenizer().SpecialId(spelling), id);
    const Ids ids = Encode(spelling);
    EXPECT_GT(ids.size(), 1u);
    for (const TokenId part : ids) EXPECT_FALSE(vocabulary.IsSpecial(part)) << spelling;
    EXPECT_EQ(TinyTokenizer().Decode(ids), spelling);
  }
}

TEST(Tokenizer, RefusesAControlSegmentThatIsNoSpecial) {
  for (const std::string text : {"<|opened|>", "message", "", "\xFF", "<|reserved_token_5|>"}) {
    const std::vector<Segment> segments = {{"ok", false}, {text, true}};
    const auto ids = TinyTokenizer().EncodeSegments(segments);
    ASSERT_FALSE(ids) << text;
    EXPECT_EQ(ids.error().code, ErrorCode::kRefused);
  }
  const std::vector<Segment> reserved = {{"<|reserved_token_1800|>", true}};
  EXPECT_EQ(*TinyTokenizer().EncodeSegments(reserved), Ids{1800});
}

TEST(Tokenizer, SegmentsDoNotMergeWithTheirNeighbours) {
  const Ids together = Encode(" that");
  const std::vector<Segment> parts = {{" th", false}, {"at", false}};
  Ids apart = Encode(" th");
  for (const TokenId id : Encode("at")) apart.push_back(id);
  EXPECT_EQ(*TinyTokenizer().EncodeSegments(parts), apart);
  EXPECT_NE(together, apart);
}

TEST(Tokenizer, EncodesInvalidUtf8AsItsReplacement) {
  for (const std::string text : {"a\xFFz", "\xE2\x82", "\xF0\x9F\x98 x", "\xC0\xAF", "\xED\xA0\x80",
                                 "\x80\x80", "caf\xE9 noir"}) {
    EXPECT_EQ(Encode(text), Encode(ReplaceInvalidUtf8(text)));
    EXPECT_EQ(TinyTokenizer().Decode(Encode(text)), ReplaceInvalidUtf8(text));
  }
}

TEST(Tokenizer, DecodesWhatItEncodesForRandomText) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (size_t i = random() % 60; i > 0; --i) text += static_cast<char>(random());
    EXPECT_EQ(TinyTokenizer().Decode(Encode(text)), ReplaceInvalidUtf8(text));
    std::string ascii;
    for (size_t i = random() % 60; i > 0; --i) ascii += static_cast<char>(random() % 128);
    EXPECT_EQ(TinyTokenizer().Decode(Encode(ascii)), ascii);
  }
}

// Each would be minutes of work, or a failure, if a piece or a slice cost its square.
TEST(Tokenizer, EncodesLongHostileTextWhole) {
  std::string words;
  for (int i = 0; i < 60'000; ++i) words += "aA \n\t'";
  const std::string texts[] = {std::string(1'000'000, 'a'),      std::string(1'000'000, ' '),
                               std::string(500'000, '\n') + "x", std::string(300'000, 'A') + ".",
                               std::string(400'000, '\xFF'),     words};
  for (const std::string& text : texts) {
    const Ids ids = Encode(text);
    EXPECT_EQ(TinyTokenizer().Decode(ids), ReplaceInvalidUtf8(text));
  }
}

TEST(Tokenizer, EncodesFromSeveralThreadsAtOnce) {
  const std::string text = "It is a truth universally acknowledged,";
  const Ids expected = Encode(text);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) right += *TinyTokenizer().Encode(text) == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 150);
}

TEST(Tokenizer, RefusesAVocabularyThatDoesNotFitTheModel) {
  const auto loaded = Tokenizer::Load(kTinyDirectory, kTinyVocab - 1);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kRefused);
  EXPECT_TRUE(Tokenizer::Load(kTinyDirectory, kTinyVocab + 100));
}

TEST(Tokenizer, RefusesADirectoryWithoutItsFiles) {
  const auto loaded = Tokenizer::Load(::testing::TempDir() + "/no-such-directory", kTinyVocab);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kRefused);
  EXPECT_NE(loaded.error().message.find("tiktoken.model"), std::string::npos);
}

}  // namespace
}  // namespace penstock::text
