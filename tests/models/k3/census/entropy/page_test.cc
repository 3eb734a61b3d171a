#include <gtest/gtest.h>

#include "models/k3/census/entropy/entropy.h"
#include "tests/models/k3/census/entropy/shard_of.h"
#include "tests/models/k3/tiny_model.h"
#include "tests/runtime/report/markup.h"

namespace penstock::k3 {
namespace {

TEST(EntropyPage, ShowsTheEmbeddedCheckpoint) {
  const auto census = TakeEntropyCensus(kTiny, {}, BufferedPread(), nullptr);
  ASSERT_TRUE(census);
  const std::string html = EntropyPage(*census);
  ExpectWellFormed(html);
  size_t histograms = 0;
  for (const auto* rows : {&census->groups, &census->kinds}) {
    for (const EntropyRow& row : *rows) histograms += !row.figures.exponents.empty();
  }
  EXPECT_EQ(Occurrences(html, "<svg"), histograms + 1);
  EXPECT_EQ(Occurrences(html, "<tr>"),
            3 + census->totals.size() + census->kinds.size() + census->groups.size());
  EXPECT_NE(html.find("layer 8, BF16"), std::string::npos);
  // No codec was measured: the columns are not there.
  EXPECT_EQ(html.find(">huffman</th>"), std::string::npos);
  EXPECT_NE(html.find(">exponent</th>"), std::string::npos);
}

TEST(EntropyPage, EscapesNames) {
  const io::ScratchDirectory scratch;
  scratch.Write("a.safetensors",
                ShardOf({{"<script>&.0.w", "F8_E4M3", "4", "abcd"}, {"e", "BF16", "0", ""}}));
  EntropyRequest request;
  request.tensors = true;
  const auto census = TakeEntropyCensus(scratch.path(), request, BufferedPread(), nullptr);
  ASSERT_TRUE(census) << census.error().message;
  const std::string html = EntropyPage(*census);
  ExpectWellFormed(html);
  EXPECT_NE(html.find("&lt;script&gt;&amp;.0.w"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
