#include "runtime/options/nearest.h"

#include <algorithm>
#include <vector>

namespace penstock {
namespace {

constexpr size_t kLongestName = 256;  // Beyond this nobody mistyped a name.

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestName || b.size() > kLongestName) return std::max(a.size(), b.size());
  // Three rows of the table: before_last for the swap of two neighbours.
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitute});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string Nearest(std::string_view name, std::span<const std::string> candidates) {
  size_t best_distance = std::max<size_t>(2, name.size() / 2) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace penstock
