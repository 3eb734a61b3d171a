#include "bench/ops/codec_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include <sys/mman.h>

namespace penstock::bench {

std::vector<uint16_t> DrawnWeights(size_t n) {
  constexpr size_t kRow = 7168;
  std::mt19937_64 engine(7);
  std::normal_distribution<float> normal;
  std::student_t_distribution<float> heavy(5);
  std::vector<uint16_t> weights(n);
  for (size_t row = 0; row < n; row += kRow) {
    const float scale = 0.02f * std::exp(0.25f * normal(engine));
    const bool is_heavy = engine() % 4 == 0;
    for (size_t i = row; i < std::min(n, row + kRow); ++i) {
      const float value = scale * (is_heavy ? heavy(engine) : normal(engine));
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      weights[i] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
  }
  return weights;
}

uint8_t* LargePages(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  auto* const place = static_cast<uint8_t*>(std::aligned_alloc(kHugePage, whole));
  if (place == nullptr) std::abort();
  madvise(place, whole, MADV_HUGEPAGE);
  std::memset(place, 1, whole);
  return place;
}

}  // namespace penstock::bench
