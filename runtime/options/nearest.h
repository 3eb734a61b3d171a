#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
size_t EditDistance(std::string_view a, std::string_view b);

// The candidate with the smallest edit distance (the first of equals), or "" when even that one
// differs in more than half of the letters, so that no absurd suggestion is made.
std::string Nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace penstock
