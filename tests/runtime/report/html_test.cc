#include "runtime/report/html.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Html, EscapesWhatHasAMeaning) {
  EXPECT_EQ(EscapeHtml("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
  EXPECT_EQ(EscapeHtml("&amp;"), "&amp;amp;");
  EXPECT_EQ(EscapeHtml("plain text\n\t1.5"), "plain text\n\t1.5");
  EXPECT_EQ(EscapeHtml(""), "");
}

TEST(Html, ReplacesWhatIsNoText) {
  const std::string no = "\xEF\xBF\xBD";
  EXPECT_EQ(EscapeHtml(std::string_view("a\0b\x1b\x7f", 5)), "a" + no + "b" + no + no);
  EXPECT_EQ(EscapeHtml("\xff\xc3"), no + no);                    // Cut short at the end.
  EXPECT_EQ(EscapeHtml("\xc3<"), no + "&lt;");                   // Never swallows what follows.
  EXPECT_EQ(EscapeHtml("\xe0\x80\xbc"), no + no + no);           // Overlong.
  EXPECT_EQ(EscapeHtml("\xed\xa0\x80"), no + no + no);           // A surrogate.
  EXPECT_EQ(EscapeHtml("\xf4\x90\x80\x80"), no + no + no + no);  // Above U+10FFFF.
}

TEST(Html, KeepsUtf8) {
  const std::string text = "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf";
  EXPECT_EQ(EscapeHtml(text), text);
}

}  // namespace
}  // namespace penstock
