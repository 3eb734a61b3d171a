#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace penstock {

// Expects that every tag is closed in order and that nothing is loaded from elsewhere.
inline void ExpectWellFormed(std::string_view html) {
  const std::set<std::string, std::less<>> empty = {"meta", "!DOCTYPE"};
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    const size_t end = html.find('>', at);
    ASSERT_NE(end, std::string_view::npos);
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string_view::npos) << tag;
    const bool closes = tag.starts_with('/');
    const std::string name(tag.substr(closes, tag.find_first_of(" \n") - closes));
    if (empty.contains(name)) continue;
    if (!closes) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name << " was not open";
    ASSERT_EQ(open.back(), name) << "at byte " << at;
    open.pop_back();
  }
  EXPECT_TRUE(open.empty()) << open.back() << " stays open";
  for (const std::string_view outside : {"://", "src=", "href=", "url(", "@import", "<script"}) {
    EXPECT_EQ(html.find(outside), std::string_view::npos) << outside;
  }
}

inline size_t Occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace penstock
