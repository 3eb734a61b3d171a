#include "models/text/encoding/byte_pair.h"

#include <algorithm>
#include <tuple>

#include "runtime/check.h"

namespace penstock::text {

void BytePairMerger::Append(std::string_view piece, std::vector<TokenId>& ids) {
  if (piece.empty()) return;
  if (const auto whole = vocabulary_.FindRank(piece)) {
    ids.push_back(*whole);
    return;
  }
  piece_ = piece;
  const auto bytes = static_cast<uint32_t>(piece.size());
  PENSTOCK_CHECK(bytes == piece.size());
  parts_.assign(bytes + 1, {});
  for (uint32_t i = 0; i <= bytes; ++i) parts_[i] = {i, i - 1, i + 1, false};
  heap_.clear();
  for (uint32_t i = 0; i + 1 < bytes; ++i) Offer(i);
  JoinAll();
  for (uint32_t part = 0; part < bytes; part = parts_[part].next) {
    const uint32_t begin = parts_[part].begin;
    const auto rank = vocabulary_.FindRank(piece_.substr(begin, End(part) - begin));
    PENSTOCK_CHECK(rank);  // A single byte, or a pair that was joined because it is a rank.
    ids.push_back(*rank);
  }
}

namespace {

// Puts the lowest rank, then the leftmost pair, on top of a heap.
constexpr auto kComesLater = [](const auto& a, const auto& b) {
  return std::tie(a.rank, a.left) > std::tie(b.rank, b.left);
};

}  // namespace

void BytePairMerger::Offer(uint32_t left) {
  const uint32_t right = parts_[left].next;
  if (right + 1 >= parts_.size()) return;  // `right` is the sentinel.
  const uint32_t begin = parts_[left].begin;
  const uint32_t end = End(right);
  const auto rank = vocabulary_.FindRank(piece_.substr(begin, end - begin));
  if (!rank) return;
  heap_.push_back({*rank, left, end});
  std::push_heap(heap_.begin(), heap_.end(), kComesLater);
}

void BytePairMerger::JoinAll() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), kComesLater);
    const Pair pair = heap_.back();
    heap_.pop_back();
    // Pairs are not removed when a neighbour is joined away: such a one no longer ends here.
    Part& left = parts_[pair.left];
    const uint32_t right = left.next;
    if (left.joined || right + 1 >= parts_.size() || End(right) != pair.end) continue;
    parts_[right].joined = true;
    left.next = parts_[right].next;
    parts_[left.next].previous = pair.left;
    Offer(pair.left);
    if (pair.left > 0) Offer(left.previous);
  }
}

}  // namespace penstock::text
