#include <algorithm>
#include <vector>

#include "ops/codec/huffman/format.h"
#include "runtime/check.h"

namespace penstock::ops::huffman {
namespace {

// A coin of package-merge: a symbol of some weight at some depth, or two coins of the depth below.
struct Coin {
  uint64_t weight;
  bool package;
};

// The coins of one depth, lightest first: every leaf, and those of the depth below in pairs.
std::vector<Coin> MergeDepth(const std::vector<Coin>& leaves, const std::vector<Coin>& below) {
  std::vector<Coin> packages;
  for (size_t i = 0; i + 1 < below.size(); i += 2) {
    packages.push_back({below[i].weight + below[i + 1].weight, true});
  }
  std::vector<Coin> merged(leaves.size() + packages.size());
  std::merge(leaves.begin(), leaves.end(), packages.begin(), packages.end(), merged.begin(),
             [](const Coin& a, const Coin& b) { return a.weight < b.weight; });
  return merged;
}

bool SpareBitsAreZero(const uint8_t* bytes, size_t bits) {
  return bits % 8 == 0 || bytes[bits / 8] >> bits % 8 == 0;
}

bool IsComplete(const Code& code) {
  uint32_t sum = 0;
  for (const uint8_t length : code.lengths) {
    if (length != 0) sum += 1u << (code.limit - length);
  }
  return sum == 1u << code.limit;
}

}  // namespace

// Larmore and Hirschberg, "A fast algorithm for optimal length-limited Huffman codes", 1990. The
// lightest 2n - 2 coins of depth 1 make the code: a symbol is as long as the number of depths at
// which its coin is among those taken, and each depth's leaves are taken lightest first.
Code MakeCode(const uint64_t counts[256], unsigned limit) {
  PENSTOCK_CHECK(limit >= 8 && limit <= kLongLimit);
  Code code;
  code.limit = limit;
  std::vector<uint8_t> symbols;
  for (unsigned s = 0; s < 256; ++s) {
    if (counts[s] != 0) symbols.push_back(static_cast<uint8_t>(s));
  }
  if (symbols.size() < 2) {
    code.lengths[symbols.empty() ? 0 : symbols[0]] = 1;
    return code;
  }
  std::stable_sort(symbols.begin(), symbols.end(),
                   [&](uint8_t a, uint8_t b) { return counts[a] < counts[b]; });
  std::vector<Coin> leaves;
  for (const uint8_t s : symbols) leaves.push_back({counts[s], false});

  std::vector<std::vector<Coin>> depths = {leaves};  // Deepest first.
  while (depths.size() < limit) depths.push_back(MergeDepth(leaves, depths.back()));
  size_t taken = 2 * symbols.size() - 2;
  for (; !depths.empty(); depths.pop_back()) {
    const auto end = depths.back().begin() + static_cast<ptrdiff_t>(taken);
    const auto packages = static_cast<size_t>(
        std::count_if(depths.back().begin(), end, [](const Coin& coin) { return coin.package; }));
    for (size_t i = 0; i < taken - packages; ++i) ++code.lengths[symbols[i]];
    taken = 2 * packages;
  }
  return code;
}

size_t WriteCode(const Code& code, uint8_t* out) {
  unsigned first = 256;
  unsigned last = 0;
  for (unsigned s = 0; s < 256; ++s) {
    if (code.lengths[s] == 0) continue;
    first = std::min(first, s);
    last = s;
  }
  PENSTOCK_CHECK(first <= last);
  out[0] = static_cast<uint8_t>(first);
  if (first == last) return 1;
  out[1] = static_cast<uint8_t>(last);
  uint8_t* const occurs = out + 2;
  uint8_t* const nibbles = occurs + (last - first) / 8 + 1;
  std::fill(occurs, out + kMostCodeBytes, uint8_t{0});
  size_t count = 0;
  for (unsigned s = first; s <= last; ++s) {
    if (code.lengths[s] == 0) continue;
    occurs[(s - first) / 8] |= static_cast<uint8_t>(1u << (s - first) % 8);
    nibbles[count / 2] |= static_cast<uint8_t>((code.lengths[s] - 1u) << 4 * (count % 2));
    ++count;
  }
  return static_cast<size_t>(nibbles - out) + (count + 1) / 2;
}

bool ReadCode(const uint8_t* bytes, size_t size, unsigned limit, Code& code) {
  code = Code{};
  code.limit = limit;
  if (size == 0) return false;
  const unsigned first = bytes[0];
  if (size == 1) {
    code.lengths[first] = 1;
    return true;
  }
  const unsigned last = bytes[1];
  if (last <= first) return false;
  const size_t range = last - first + 1;
  const uint8_t* const occurs = bytes + 2;
  const size_t before_nibbles = 2 + (range + 7) / 8;
  if (size <= before_nibbles || !SpareBitsAreZero(occurs, range)) return false;
  const uint8_t* const nibbles = bytes + before_nibbles;
  size_t count = 0;
  for (size_t i = 0; i < range; ++i) {
    if ((occurs[i / 8] >> i % 8 & 1) == 0) continue;
    if (count / 2 >= size - before_nibbles) return false;
    const unsigned length = (nibbles[count / 2] >> 4 * (count % 2) & 15u) + 1;
    if (length > limit) return false;
    code.lengths[first + i] = static_cast<uint8_t>(length);
    ++count;
  }
  if (code.lengths[first] == 0 || code.lengths[last] == 0) return false;
  if ((count + 1) / 2 != size - before_nibbles || !SpareBitsAreZero(nibbles, 4 * count)) {
    return false;
  }
  return IsComplete(code);
}

}  // namespace penstock::ops::huffman
