#include <cmath>

#include <gtest/gtest.h>

#include "ops/reference/reference.h"

namespace penstock::ops::reference {
namespace {

// Two heads, one latent value, so that every key and value is a multiple of it: the rows of kv_b
// are per head [key, value], not all keys and then all values.
TEST(NumericReferenceAttention, HeadMajorRowsAndScale) {
  const LatentShape shape{.heads = 2, .nope = 1, .rope = 3, .value = 1, .latent = 1};
  const Vector kv_b = {2, 10, 4, 100};                 // k0, v0, k1, v1
  const Vector q = {1, 0, 0, 3, 1, 0, 0, 0};           // [head][nope | rope]
  const Vector cache = {1, 0, 0, 0, /**/ 2, 0, 0, 1};  // [position][latent | rope]
  const Vector out = ExpandedAttention(shape, kv_b, q, cache, 2);
  const double first = std::exp((2 * 2 + 3 - 2.0) / 2);  // scores 2 and 7, over sqrt(4)
  const double second = std::exp((4 * 2 - 4.0) / 2);
  EXPECT_NEAR(out[0], (10 + 20 * first) / (1 + first), 1e-12);
  EXPECT_NEAR(out[1], (100 + 200 * second) / (1 + second), 1e-12);
}

}  // namespace
}  // namespace penstock::ops::reference
