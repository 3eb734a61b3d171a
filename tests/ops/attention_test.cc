#include "ops/attention.h"

#include <cmath>
#include <memory>

#include "ops/eigen.h"
#include "ops/reference/reference.h"
#include "tests/ops/draw.h"

namespace penstock::ops {
namespace {

struct Case {
  LatentShape shape;
  size_t positions;
  std::vector<uint16_t> kv_b;
  std::vector<float> q;
  std::vector<float> cache;  // [positions rounded up to pages][width], zero beyond
};

Case DrawCase(Draw& draw, const LatentShape& shape, size_t positions, float sigma = 1) {
  Case c{shape, positions,
         draw.Bf16s(shape.heads * (shape.nope + shape.value) * shape.latent, 0.3f),
         draw.Normals(shape.heads * (shape.nope + shape.rope), sigma),
         draw.Normals(positions * shape.width())};
  const size_t pages = (positions + kPagePositions - 1) / kPagePositions;
  c.cache.resize(pages * kPagePositions * shape.width());
  return c;
}

std::vector<const float*> Pages(const Case& c) {
  std::vector<const float*> pages;
  for (size_t s = 0; s < c.positions; s += kPagePositions) {
    pages.push_back(c.cache.data() + s * c.shape.width());
  }
  return pages;
}

std::vector<float> Attend(const Kernels& kernels, const Case& c,
                          std::span<const float* const> pages) {
  const LatentShape& shape = c.shape;
  std::vector<float> out(shape.heads * shape.value);
  std::vector<float> scratch(LatentScratchFloats(shape), NAN);
  for (size_t first = 0; first < shape.heads; first += kHeadGroup) {
    LatentAttention(kernels, shape, first / kHeadGroup,
                    c.kv_b.data() + first * (shape.nope + shape.value) * shape.latent,
                    c.q.data() + first * (shape.nope + shape.rope), pages, c.positions,
                    scratch.data(), out.data() + first * shape.value);
  }
  return out;
}

std::vector<float> Attend(const Kernels& kernels, const Case& c) {
  return Attend(kernels, c, Pages(c));
}

std::vector<double> Expanded(const Case& c) {
  return reference::ExpandedAttention(c.shape, reference::WidenBf16(c.kv_b), Widen(c.q),
                                      Widen(c.cache), c.positions);
}

class NumericAttention : public ::testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(Isa, NumericAttention, ::testing::ValuesIn(RunnableKernels()),
                         KernelsName);

// Scores here are of size sqrt(latent) * a few; their rounding errors move the softmax, and values
// are sums over the latent: an absolute 1e-5 at outputs of size 1 to 10 leaves a margin of about
// ten over what is seen, and any slip of a definition moves outputs by 1e-2 and more.
void ExpectClose(std::span<const float> got, std::span<const double> want) {
  double largest = 0;
  for (double value : want) largest = std::max(largest, std::abs(value));
  const std::vector<double> magnitude(want.size(), largest);
  EXPECT_TRUE(Within(got, want, magnitude, 1e-5));
}

TEST_P(NumericAttention, LatentFormAgreesWithTheExpandedForm) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 25; ++round) {
    const LatentShape shape{.heads = draw.Size(1, 19),
                            .nope = draw.Size(1, 24),
                            .rope = draw.Size(0, 12),
                            .value = draw.Size(1, 24),
                            .latent = draw.Size(1, 50)};
    const Case c = DrawCase(draw, shape, draw.Size(1, 200));
    SCOPED_TRACE(c.positions);
    ExpectClose(Attend(*GetParam(), c), Expanded(c));
  }
}

TEST_P(NumericAttention, ReleasedWidths) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shape{.heads = 8, .nope = 128, .rope = 64, .value = 128, .latent = 512};
  const Case c = DrawCase(draw, shape, 70, 0.2f);
  ExpectClose(Attend(*GetParam(), c), Expanded(c));
}

// More pages than scores are kept for between the two passes.
TEST_P(NumericAttention, LongContexts) {
  Draw draw(3);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shape{.heads = 3, .nope = 4, .rope = 2, .value = 5, .latent = 6};
  const Case c = DrawCase(draw, shape, 70 * kPagePositions + 17);
  ExpectClose(Attend(*GetParam(), c), Expanded(c));
}

TEST_P(NumericAttention, BitsAreScalars) {
  Draw draw(4);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shape{.heads = 11, .nope = 20, .rope = 4, .value = 12, .latent = 44};
  const Case c = DrawCase(draw, shape, 150);
  EXPECT_TRUE(SameBits(Attend(*GetParam(), c), Attend(ScalarKernels(), c)));
}

// The sums must not depend on where a page lies: each is copied to another offset from a boundary.
TEST_P(NumericAttention, BitsDoNotDependOnTheAlignmentOfPages) {
  Draw draw(5);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shape{.heads = 9, .nope = 20, .rope = 5, .value = 12, .latent = 44};
  const Case c = DrawCase(draw, shape, 130);
  const size_t floats = kPagePositions * shape.width();
  const auto want = Attend(*GetParam(), c);
  for (size_t shift = 0; shift < 9; ++shift) {
    std::vector<std::vector<float>> copies;
    std::vector<const float*> pages;
    for (const float* page : Pages(c)) {
      copies.emplace_back(floats + 16);
      std::copy_n(page, floats, copies.back().data() + shift);
      pages.push_back(copies.back().data() + shift);
    }
    EXPECT_TRUE(SameBits(Attend(*GetParam(), c, pages), want)) << shift;
  }
}

// A head gives the same bits whatever heads stand beside it, and rows behind the length may hold
// anything finite.
TEST_P(NumericAttention, UnusedRowsAndOtherHeadsDoNotMatter) {
  Draw draw(6);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shape{.heads = 5, .nope = 8, .rope = 4, .value = 8, .latent = 16};
  Case c = DrawCase(draw, shape, 70);
  const auto want = Attend(*GetParam(), c);
  for (size_t i = c.positions * shape.width(); i < c.cache.size(); ++i) c.cache[i] = 1e6f;
  EXPECT_TRUE(SameBits(Attend(*GetParam(), c), want));
  for (size_t i = 0; i < 4 * (shape.nope + shape.rope); ++i) c.q[i] = -c.q[i];
  const auto others = Attend(*GetParam(), c);
  EXPECT_TRUE(SameBits(std::span(others).subspan(4 * 8), std::span(want).subspan(4 * 8)));
  EXPECT_FALSE(SameBits(std::span(others).first(4 * 8), std::span(want).first(4 * 8)));
}

TEST_P(NumericAttention, OnePositionReturnsItsValue) {
  Draw draw(7);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shape{.heads = 2, .nope = 3, .rope = 2, .value = 4, .latent = 5};
  const Case c = DrawCase(draw, shape, 1);
  ExpectClose(Attend(*GetParam(), c), Expanded(c));
}

// Two positions whose keys differ in a rope slot only, which is neither rotated nor dropped: the
// score is (q . k) / sqrt(nope + rope), so the weights can be written down.
TEST_P(NumericAttention, RopeSlotsAndScaleByHand) {
  const LatentShape shape{.heads = 1, .nope = 1, .rope = 3, .value = 1, .latent = 2};
  Case c{shape, 2, {0, 0, 0, 0x3f80}, {1, 0, 0, 2}, std::vector<float>(kPagePositions * 5)};
  c.cache[1] = 10;      // position 0: value 10 (row v = latent[1]), rope slots zero
  c.cache[5 + 1] = 20;  // position 1: value 20
  c.cache[5 + 4] = 3;   // its last rope slot
  const double weight = std::exp(6.0 / 2);  // 2 * 3 / sqrt(4)
  EXPECT_NEAR(Attend(*GetParam(), c)[0], (10 + 20 * weight) / (1 + weight), 1e-5);
}

TEST_P(NumericAttention, LargeScoresStayFinite) {
  Draw draw(8);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shape{.heads = 2, .nope = 8, .rope = 4, .value = 8, .latent = 16};
  const Case c = DrawCase(draw, shape, 90, 1e4f);
  const auto out = Attend(*GetParam(), c);
  EXPECT_TRUE(GetParam()->all_finite(out.data(), out.size()));
}

TEST_P(NumericAttention, NanInTheCacheIsNotLost) {
  Draw draw(9);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shape{.heads = 2, .nope = 8, .rope = 4, .value = 8, .latent = 16};
  for (size_t position : {0, 63, 64, 89}) {
    Case c = DrawCase(draw, shape, 90);
    c.cache[position * shape.width() + 3] = NAN;
    for (float value : Attend(*GetParam(), c)) EXPECT_TRUE(std::isnan(value));
  }
}

// Eigen checks every heap allocation of its own against a flag; a call under the flag proves that
// the products live on the stack.
TEST_P(NumericAttention, EigenAllocatesNothing) {
  Draw draw(10);
  SCOPED_TRACE(draw.Seed());
  const LatentShape shapes[] = {
      {.heads = 8, .nope = 128, .rope = 64, .value = 128, .latent = 512},
      {.heads = 2, .nope = 4, .rope = 3, .value = 2, .latent = 5000},
      {.heads = 1, .nope = 4, .rope = 0, .value = 2, .latent = 3},
  };
  for (const LatentShape& shape : shapes) {
    const Case c = DrawCase(draw, shape, 70, 0.2f);
    const auto want = Attend(*GetParam(), c);
    Eigen::internal::set_is_malloc_allowed(false);
    const auto got = Attend(*GetParam(), c);
    Eigen::internal::set_is_malloc_allowed(true);
    EXPECT_TRUE(SameBits(got, want));
  }
}

}  // namespace
}  // namespace penstock::ops
