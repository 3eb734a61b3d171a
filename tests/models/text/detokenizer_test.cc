#include "models/text/detokenizer.h"

#include <random>

#include "models/text/encoding/utf8.h"
#include "tests/models/text/tiny_tokenizer.h"

namespace penstock::text {
namespace {

// In the embedded vocabulary the ids 0..255 are the single bytes in order.
TokenId Byte(int byte) { return static_cast<TokenId>(byte); }

TEST(Detokenizer, HoldsBackAnIncompleteCharacter) {
  Detokenizer text(TinyTokenizer());
  EXPECT_EQ(text.Push(Byte(0xF0)), "");
  EXPECT_EQ(text.Push(Byte(0x9F)), "");
  EXPECT_EQ(text.Push(Byte(0x91)), "");
  EXPECT_EQ(text.Push(Byte(0xA9)), "👩");
  EXPECT_EQ(text.Push(Byte('!')), "!");
  EXPECT_EQ(text.Finish(), "");
}

TEST(Detokenizer, NeverHoldsInvalidBytesForEver) {
  Detokenizer text(TinyTokenizer());
  EXPECT_EQ(text.Push(Byte(0xFF)), "\uFFFD");
  EXPECT_EQ(text.Push(Byte(0x80)), "\uFFFD");
  EXPECT_EQ(text.Push(Byte(0xE2)), "");
  EXPECT_EQ(text.Push(Byte(0x82)), "");
  EXPECT_EQ(text.Push(Byte('a')),
            "\uFFFD"
            "a");
  EXPECT_EQ(text.Push(Byte(0xE2)), "");
  EXPECT_EQ(text.Push(Byte(0xC3)), "\uFFFD");
  EXPECT_EQ(text.Finish(), "\uFFFD");
  EXPECT_EQ(text.Finish(), "");
  EXPECT_EQ(text.Push(Byte('b')), "b");
}

TEST(Detokenizer, SpellsSpecialsBehindWhatWasHeldBack) {
  Detokenizer text(TinyTokenizer());
  EXPECT_EQ(text.Push(Byte(0xF0)), "");
  EXPECT_EQ(text.Push(1794), "\uFFFD<|end_of_msg|>");
  EXPECT_EQ(text.Push(1800), "<|reserved_token_1800|>");
  EXPECT_EQ(text.Push(9000), "<|reserved_token_9000|>");
}

TEST(Detokenizer, StreamsTheExpectedContinuations) {
  const auto expected = TinyJson("k3-tiny-expected.json");
  for (const auto& p : expected.at("prompts")) {
    Detokenizer text(TinyTokenizer());
    std::string streamed;
    for (const TokenId id : p.at("greedy").get<std::vector<TokenId>>()) streamed += text.Push(id);
    EXPECT_EQ(streamed + text.Finish(), p.at("greedy_text").get<std::string>());
  }
}

TEST(Detokenizer, JoinedOutputsAreTheDecodedWhole) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    // Bytes that begin, continue and break characters far more often than text does.
    std::vector<TokenId> ids;
    for (size_t i = random() % 12; i > 0; --i) {
      static const TokenId kBytes[] = {0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xED,
                                       0xEF, 0xF0, 0xF4, 0xF5, 1794, 1426, 0x90, 0x8F};
      ids.push_back(kBytes[random() % std::size(kBytes)]);
    }
    Detokenizer text(TinyTokenizer());
    std::string streamed, bytes;
    for (const TokenId id : ids) {
      const std::string out = text.Push(id);
      EXPECT_TRUE(IsValidUtf8(out));
      streamed += out;
      bytes += TinyTokenizer().Bytes(id);
      // What is held back is the beginning of one character.
      EXPECT_LE(ReplaceInvalidUtf8(bytes).size() - streamed.size(), 3u);
    }
    EXPECT_EQ(streamed + text.Finish(), TinyTokenizer().Decode(ids));
  }
}

}  // namespace
}  // namespace penstock::text
