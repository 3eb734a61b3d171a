#include "models/text/encoding/presplit.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/text/encoding/utf8.h"

namespace penstock::text {
namespace {

using Pieces = std::vector<std::string>;
using Engine = PreSplitter::Engine;

Pieces Split(const std::string& text, Engine engine = Engine::kJitIfAvailable) {
  static const PreSplitter jit = *PreSplitter::Create(Engine::kJitIfAvailable);
  static const PreSplitter interpreter = *PreSplitter::Create(Engine::kInterpreter);
  Pieces pieces;
  const auto status =
      (engine == Engine::kInterpreter ? interpreter : jit).Split(text, [&](std::string_view piece) {
        pieces.emplace_back(piece);
      });
  EXPECT_TRUE(status) << status.error().message;
  return pieces;
}

// One character of the property test: its bytes and what the standard says about it.
struct Char {
  std::string bytes;
  enum Category { kLu, kLl, kLt, kLm, kLo, kM, kN, kSpace, kOther } category;
  bool han = false;
};

const std::vector<Char>& Alphabet() {
  static const std::vector<Char> alphabet = {{"A", Char::kLu},
                                             {"É", Char::kLu},
                                             {"S", Char::kLu},
                                             {"T", Char::kLu},
                                             {"a", Char::kLl},
                                             {"s", Char::kLl},
                                             {"t", Char::kLl},
                                             {"r", Char::kLl},
                                             {"e", Char::kLl},
                                             {"v", Char::kLl},
                                             {"m", Char::kLl},
                                             {"l", Char::kLl},
                                             {"d", Char::kLl},
                                             {"ſ", Char::kLl},
                                             {"ǅ", Char::kLt},
                                             {"ʰ", Char::kLm},
                                             {"ー", Char::kLm},
                                             {"の", Char::kLo},
                                             {"ª", Char::kLo},
                                             {"\u0301", Char::kM},
                                             {"\u0903", Char::kM},
                                             {"\u20DD", Char::kM},
                                             {"1", Char::kN},
                                             {"½", Char::kN},
                                             {"Ⅷ", Char::kN},
                                             {"月", Char::kLo, true},
                                             {"々", Char::kLm, true},
                                             {"〇", Char::kN, true},
                                             {"⺀", Char::kOther, true},
                                             {"𠀀", Char::kLo, true},
                                             {" ", Char::kSpace},
                                             {"\t", Char::kSpace},
                                             {"\n", Char::kSpace},
                                             {"\r", Char::kSpace},
                                             {"\v", Char::kSpace},
                                             {"\u0085", Char::kSpace},
                                             {"\u00A0", Char::kSpace},
                                             {"\u2028", Char::kSpace},
                                             {"\u3000", Char::kSpace},
                                             {"'", Char::kOther},
                                             {".", Char::kOther},
                                             {"、", Char::kOther},
                                             {"£", Char::kOther},
                                             {"_", Char::kOther},
                                             {"\x1C", Char::kOther},
                                             {"\u180E", Char::kOther},
                                             {"\u200B", Char::kOther},
                                             {"\u200D", Char::kOther},
                                             {"\uE000", Char::kOther},
                                             {"\u0378", Char::kOther},
                                             {std::string(1, '\0'), Char::kOther},
                                             {"👩", Char::kOther}};
  return alphabet;
}

// The eight alternatives by plain loops over characters: what the expression has to agree with.
class Definition {
 public:
  explicit Definition(std::vector<Char> text) : text_(std::move(text)) {}

  Pieces Split() const {
    Pieces pieces;
    for (size_t at = 0; at < text_.size();) {
      const size_t end = EndOfPiece(at);
      std::string piece;
      for (; at < end; ++at) piece += text_[at].bytes;
      pieces.push_back(piece);
    }
    return pieces;
  }

 private:
  bool Is(size_t at, std::initializer_list<Char::Category> set) const {
    return at < text_.size() && std::find(set.begin(), set.end(), text_[at].category) != set.end();
  }
  bool Upper(size_t i) const {
    return Is(i, {Char::kLu, Char::kLt, Char::kLm, Char::kLo, Char::kM}) && !text_[i].han;
  }
  bool Lower(size_t i) const {
    return Is(i, {Char::kLl, Char::kLm, Char::kLo, Char::kM}) && !text_[i].han;
  }
  bool Space(size_t i) const { return Is(i, {Char::kSpace}); }
  bool Break(size_t i) const {
    return i < text_.size() && (text_[i].bytes == "\n" || text_[i].bytes == "\r");
  }
  bool Letter(size_t i) const {
    return Is(i, {Char::kLu, Char::kLl, Char::kLt, Char::kLm, Char::kLo});
  }
  bool Prefix(size_t i) const {
    return i < text_.size() && !Break(i) && !Letter(i) && !Is(i, {Char::kN});
  }
  bool Symbol(size_t i) const {
    return i < text_.size() && !Space(i) && !Letter(i) && !Is(i, {Char::kN});
  }
  size_t Suffix(size_t at) const {
    if (at >= text_.size() || text_[at].bytes != "'") return at;
    std::string next;
    for (size_t i = at + 1; i < text_.size() && i < at + 3; ++i) {
      std::string c = text_[i].bytes == "ſ" ? "s" : text_[i].bytes;
      if (c.size() == 1) c[0] = static_cast<char>(std::tolower(c[0]));
      next += c.size() == 1 ? c : "?";
    }
    for (const std::string suffix : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      if (next.starts_with(suffix)) return at + 1 + suffix.size();
    }
    return at;
  }
  // [Upper]{least_upper,}[Lower]{least_lower,} from `at`, greedy with giving back; 0: no match.
  size_t Word(size_t at, size_t least_upper, size_t least_lower) const {
    size_t upper = at;
    while (Upper(upper)) ++upper;
    for (; upper >= at + least_upper; --upper) {
      size_t lower = upper;
      while (Lower(lower)) ++lower;
      if (lower >= upper + least_lower) return Suffix(lower);
      if (upper == at) break;
    }
    return 0;
  }
  size_t EndOfPiece(size_t at) const {
    size_t end = at;
    while (end < text_.size() && text_[end].han) ++end;
    if (end > at) return end;
    for (const size_t least_upper : {0, 1}) {
      for (const size_t prefix : {1, 0}) {
        if (prefix == 1 && !Prefix(at)) continue;
        if ((end = Word(at + prefix, least_upper, 1 - least_upper)) > 0) return end;
      }
    }
    for (end = at; end < at + 3 && Is(end, {Char::kN});) ++end;
    if (end > at) return end;
    const size_t symbols = at + (text_[at].bytes == " " ? 1 : 0);
    for (end = symbols; Symbol(end);) ++end;
    if (end > symbols) {
      while (Break(end)) ++end;
      return end;
    }
    return EndOfSpace(at);
  }
  size_t EndOfSpace(size_t at) const {
    size_t end = at;
    while (Space(end)) ++end;
    for (size_t i = end; i > at; --i) {
      if (Break(i - 1)) return i;
    }
    if (end == text_.size() || end == at + 1) return end;
    return end - 1;
  }

  std::vector<Char> text_;
};

TEST(PreSplit, CutsByTheFirstAlternativeThatMatches) {
  const std::pair<std::string, Pieces> cases[] = {
      {"", {}},
      {"Hello, world!", {"Hello", ",", " world", "!"}},
      {"HTTPServer's DON'T we'LL", {"HTTPServer's", " DON'T", " we'LL"}},
      {"it'sx it's'd", {"it's", "x", " it's", "'d"}},
      {"itſ'ſ", {"itſ'ſ"}},
      {"12345 678", {"123", "45", " ", "678"}},
      {"月之abc々〇1", {"月之", "abc", "々〇", "1"}},
      {"漢、の", {"漢", "、の"}},
      {"x =\n\n y", {"x", " =\n\n", " y"}},
      {"a  \r\n \n  b", {"a", "  \r\n \n", " ", " b"}},
      {"end   ", {"end", "   "}},
      {"\tif", {"\tif"}},
      {"a\u180Eb \u180E", {"a", "\u180Eb", " \u180E"}},
      {"e\u0301t", {"e\u0301t"}},
      {"\u0301", {"\u0301"}},
  };
  for (const auto& [text, pieces] : cases) {
    EXPECT_EQ(Split(text), pieces) << text;
    EXPECT_EQ(Split(text, Engine::kInterpreter), pieces) << text;
  }
}

TEST(PreSplit, EqualsTheDefinitionOnRandomText) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    // A few characters often meet in ways that all of them seldom do.
    std::vector<Char> few;
    for (size_t i = 1 + random() % 8; i > 0; --i) {
      few.push_back(Alphabet()[random() % Alphabet().size()]);
    }
    std::vector<Char> text;
    std::string bytes;
    for (size_t i = random() % 16; i > 0; --i) {
      text.push_back(few[random() % few.size()]);
      bytes += text.back().bytes;
    }
    const Pieces expected = Definition(text).Split();
    ASSERT_EQ(Split(bytes), expected) << bytes;
    ASSERT_EQ(Split(bytes, Engine::kInterpreter), expected) << bytes;
  }
}

TEST(PreSplit, CoversEveryCodePoint) {
  for (uint32_t c = 0; c < 0x110000; c += 1 + c / 0x3000) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    if (c < 0x80) {
      text = static_cast<char>(c);
    } else if (c < 0x800) {
      text = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      text = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      text = {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
              static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    }
    ASSERT_EQ(Split(text), Pieces{text}) << c;
  }
}

std::vector<size_t> SliceChars(const std::string& text) {
  std::vector<size_t> chars;
  std::string joined;
  PreSplitter::Slice(text, [&](std::string_view slice) {
    joined += slice;
    size_t count = 0;
    for (; !slice.empty(); ++count) slice.remove_prefix(DecodeUtf8(slice).bytes);
    chars.push_back(count);
  });
  EXPECT_EQ(joined, text);
  return chars;
}

std::string Repeat(std::string_view text, size_t times) {
  std::string repeated;
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST(PreSplit, SlicesLongRunsAndLongTexts) {
  using Sizes = std::vector<size_t>;
  EXPECT_EQ(SliceChars(""), Sizes{});
  EXPECT_EQ(SliceChars(Repeat("é", 25'000)), Sizes{25'000});
  EXPECT_EQ(SliceChars(Repeat("é", 25'001)), (Sizes{25'000, 1}));
  EXPECT_EQ(SliceChars(Repeat(" ", 60'000)), (Sizes{25'000, 25'000, 10'000}));
  // A run that begins in the middle of a slice; the information separators count as space.
  EXPECT_EQ(SliceChars("ab " + Repeat("x", 30'000)), (Sizes{25'003, 5'000}));
  EXPECT_EQ(SliceChars(Repeat("\x1F", 20'000) + Repeat("\u3000", 20'000)), (Sizes{25'000, 15'000}));
  EXPECT_EQ(SliceChars(Repeat("a ", 200'000)), Sizes{400'000});
  EXPECT_EQ(SliceChars(Repeat("a ", 200'001)), (Sizes{400'000, 2}));
  // The block of 400,000 ends inside a run, and the run is counted from there again.
  const std::string before = Repeat("a ", 190'000);
  EXPECT_EQ(SliceChars(before + Repeat("b", 45'001)), (Sizes{400'000, 25'000, 1}));
  // A cut run does not move the end of the block.
  EXPECT_EQ(SliceChars(before.substr(0, 370'000) + Repeat("c", 26'000) + Repeat(" d", 3'000)),
            (Sizes{395'000, 5'000, 2'000}));
}

TEST(PreSplit, SplitsLongRunsInBothEngines) {
  for (const std::string unit : {"a", "A", "の", "\u0301", " ", "\n", "1", ".", "月", "aA", "'s"}) {
    std::string text = Repeat(unit, 50'000) + "x";
    const Pieces jit = Split(text);
    EXPECT_EQ(jit, Split(text, Engine::kInterpreter)) << unit;
    std::string joined;
    for (const std::string& piece : jit) joined += piece;
    EXPECT_EQ(joined, text);
  }
}

}  // namespace
}  // namespace penstock::text
