#include "io/pack/write/journal.h"

#include <algorithm>

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

struct Written {
  SmallPack pack = MakeSmallPack(3, 4, 50);
  std::vector<Stripe> stripes;
  std::string head;
  std::vector<std::string> lines;

  Written() {
    uint64_t offset = 0;
    head = JournalHead(pack.parameters, pack.tensors, pack.plan);
    for (size_t i = 0; i < pack.plan.size(); ++i) {
      const EncodedStripe& encoded = pack.stripes[i];
      stripes.push_back({.tensor = pack.plan[i].tensor,
                         .codec = encoded.codec,
                         .first = pack.plan[i].first,
                         .elements = encoded.elements,
                         .raw_bytes = pack.raw[i].size(),
                         .offset = offset,
                         .stored_bytes = encoded.stored.size(),
                         .stored_sum = encoded.stored_sum,
                         .raw_sum = encoded.raw_sum});
      offset += stripes.back().padded_bytes();
      lines.push_back(JournalLine(stripes.back()));
    }
  }
  std::string Text() const {
    std::string text = head;
    for (const std::string& line : lines) text += line;
    return text;
  }
};

TEST(PackJournal, ReadsWhatItWrites) {
  const Written written;
  EXPECT_EQ(std::ranges::count(written.head, '\n'), 1);
  const auto journal = ParseJournal(written.Text(), "j");
  ASSERT_TRUE(journal) << journal.error().message;
  EXPECT_EQ(journal->parameters, written.pack.parameters);
  EXPECT_EQ(journal->tensors, written.pack.tensors);
  EXPECT_EQ(journal->plan, written.pack.plan);
  EXPECT_EQ(journal->stripes, written.stripes);
  EXPECT_EQ(journal->head_bytes, written.head.size());
  ASSERT_EQ(journal->ends.size(), written.stripes.size());
  EXPECT_EQ(journal->ends.back(), written.Text().size());
}

TEST(PackJournal, ATornJournalIsReadUpToItsLastWholeLine) {
  const Written written;
  const std::string text = written.Text();
  for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const auto journal = ParseJournal(std::string_view(text).substr(0, bytes), "j");
    ASSERT_TRUE(journal) << journal.error().message;
    size_t whole = 0;
    size_t end = written.head.size();
    EXPECT_EQ(journal->head_bytes, bytes < end ? 0 : end);
    while (whole < written.lines.size() && end + written.lines[whole].size() <= bytes) {
      end += written.lines[whole++].size();
    }
    if (bytes < written.head.size()) whole = 0;
    ASSERT_EQ(journal->stripes.size(), whole) << bytes;
    for (size_t i = 0; i < whole; ++i) EXPECT_EQ(journal->stripes[i], written.stripes[i]);
  }
}

TEST(PackJournal, AChangedByteEndsTheReading) {
  const Written written;
  const size_t second = written.head.size() + written.lines[0].size();
  for (size_t at = 0; at < written.lines[1].size(); ++at) {
    std::string text = written.Text();
    text[second + at] ^= 1;
    const auto journal = ParseJournal(text, "j");
    ASSERT_TRUE(journal) << journal.error().message;
    EXPECT_EQ(journal->stripes.size(), 1u) << at;
    EXPECT_EQ(journal->ends, (std::vector<uint64_t>{second}));
  }
}

// Whole lines, each right by itself, in a place that is not theirs.
TEST(PackJournal, LinesContinueOneAnother) {
  const Written written;
  const auto stripes = [&](const std::vector<std::string>& lines) {
    std::string text = written.head;
    for (const std::string& line : lines) text += line;
    return ParseJournal(text, "j")->stripes.size();
  };
  EXPECT_EQ(stripes({written.lines[0], written.lines[0]}), 1u);
  EXPECT_EQ(stripes({written.lines[1]}), 0u);
  EXPECT_EQ(stripes({written.lines[0], written.lines[2], written.lines[1]}), 1u);
  std::vector<std::string> more = written.lines;
  more.push_back(written.lines.back());
  EXPECT_EQ(stripes(more), written.lines.size());
  Stripe moved = written.stripes[1];
  moved.offset += kStripeAlignment;
  EXPECT_EQ(stripes({written.lines[0], JournalLine(moved), written.lines[2]}), 1u);
}

TEST(PackJournal, AFirstLineOfSomethingElseIsRefused) {
  ExpectRefused(ParseJournal("{}\n", "j"), {"j: "});
  ExpectRefused(ParseJournal("\n", "j"), {"j: "});
  Written written;
  written.pack.plan.pop_back();
  ExpectRefused(
      ParseJournal(JournalHead(written.pack.parameters, written.pack.tensors, written.pack.plan),
                   "j"),
      {"j: stripe"});
}

TEST(PackJournal, ADifferenceIsNamedWithBothValues) {
  const Written written;
  const Journal begun = *ParseJournal(written.Text(), "j");
  const auto differs = [&](const auto& change, const std::vector<std::string>& parts) {
    SmallPack asked = written.pack;
    change(asked);
    ExpectRefused(CheckSamePack(begun, asked.parameters, asked.tensors, asked.plan, "D"), parts);
  };
  const SmallPack& was = written.pack;
  EXPECT_TRUE(CheckSamePack(begun, was.parameters, was.tensors, was.plan, "D"));
  const std::string other(32, 'e');
  differs([&](auto& p) { p.parameters.identity = other; },
          {"D ", "identity", was.parameters.identity, other});
  differs([](auto& p) { p.parameters.kind = "file"; }, {"kind", "trunk", "file"});
  differs([](auto& p) { p.parameters.source = "z"; }, {"source name", "\"model\"", "'z'"});
  differs([](auto& p) { p.parameters.codec = "chain"; }, {"codec", "auto", "chain"});
  differs([](auto& p) { p.parameters.stripe_bytes = 1; }, {"65536 bytes", "1 bytes"});
  differs([](auto& p) { p.parameters.extra["chunk"] = "65"; }, {"'chunk=64'", "'chunk=65'"});
  differs([](auto& p) { p.parameters.extra["z"] = "1"; }, {"none", "'z=1'"});
  differs([](auto& p) { p.parameters.program = "q"; }, {"program", "'penstock test'", "'q'"});
  differs([](auto& p) { p.tensors[0].name = "q"; }, {"tensor 0", "layers.0", "'q'"});
  differs([](auto& p) { p.tensors[0].element ^= 1; }, {"tensor 0"});
  differs([](auto& p) { p.tensors[0].elements += 1; }, {"tensor 0"});
  differs([](auto& p) { p.tensors.pop_back(); }, {"tensor 3", "none"});
  differs([](auto& p) { p.plan[1].elements += 1; }, {"stripe 1", "elements of tensor"});
  differs([](auto& p) { p.plan.push_back({}); }, {"none", "0 elements of tensor 0"});
}

}  // namespace
}  // namespace penstock::io
