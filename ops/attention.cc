#include "ops/attention.h"

#include <algorithm>
#include <cmath>

#include "ops/cache_line.h"
#include "ops/eigen.h"
#include "runtime/check.h"

namespace penstock::ops {
namespace {

constexpr Eigen::Index kHeads = kHeadGroup;
constexpr Eigen::Index kPositions = kPagePositions;

// Row-major blocks of fixed height: the heads of a group (unused heads are zero), one page.
using HeadRows = Eigen::Matrix<float, kHeads, Eigen::Dynamic, Eigen::RowMajor>;
using PageRows = Eigen::Matrix<float, kPositions, Eigen::Dynamic, Eigen::RowMajor>;
using Scores = Eigen::Matrix<float, kHeads, kPositions, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;

// Scores of so many pages are kept between the two passes; those of later pages are computed again,
// with the same bits.
constexpr size_t kKeptPages = 64;
constexpr size_t kPageScores = kHeadGroup * kPagePositions;

void UseFixedCaches() {
  static const bool done = [] {
    Eigen::setCpuCacheSizes(32 * 1024, 512 * 1024, 4 * 1024 * 1024);
    return true;
  }();
  static_cast<void>(done);
}

// The parts of the caller's scratch, each on a 64-byte boundary.
struct Scratch {
  Scratch(const LatentShape& shape, float* base)
      : query(base),
        context(query + kHeadGroup * PaddedToLine(shape.width())),
        weights(context + kHeadGroup * PaddedToLine(shape.latent)),
        kept(weights + kPageScores) {}
  float* query;    // [kHeadGroup][width]: q' and the rope slots of q
  float* context;  // [kHeadGroup][latent]
  float* weights;  // [kHeadGroup][kPagePositions]
  float* kept;     // [kKeptPages][kHeadGroup][kPagePositions]
};

// q' = Bk^T q_nope for every head, then the rope slots as they are; zero rows for unused heads.
void LatentQueries(const Kernels& kernels, const LatentShape& shape, size_t heads,
                   const uint16_t* kv_b, const float* q, float* query) {
  std::fill_n(query, kHeadGroup * shape.width(), 0.0f);
  const size_t rows = shape.nope + shape.value;
  for (size_t h = 0; h < heads; ++h) {
    const float* head = q + h * (shape.nope + shape.rope);
    float* row = query + h * shape.width();
    kernels.matvec_bf16_transposed(kv_b + h * rows * shape.latent, shape.nope, shape.latent, head,
                                   row);
    std::copy_n(head + shape.nope, shape.rope, row + shape.latent);
  }
}

// scores[h][s] = query[h] . page[s] * scale, for every row of the page.
void ScorePage(const LatentShape& shape, const float* query, const float* page, float* scores) {
  const auto width = static_cast<Eigen::Index>(shape.width());
  const Eigen::Map<const HeadRows> queries(query, kHeads, width);
  const Eigen::Map<const PageRows> rows(page, kPositions, width);
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.nope + shape.rope));
  Eigen::Map<Scores> out(scores);
  out.noalias() = queries * rows.transpose();
  out *= scale;
}

// context[h] += weights[h] . page, over the latent part of its rows.
void AddPage(const LatentShape& shape, const float* weights, const float* page, float* context) {
  const auto latent = static_cast<Eigen::Index>(shape.latent);
  const Eigen::Map<const Scores> p(weights);
  const Eigen::Map<const PageRows, 0, Stride> rows(
      page, kPositions, latent, Stride(static_cast<Eigen::Index>(shape.width())));
  Eigen::Map<HeadRows> out(context, kHeads, latent);
  out.noalias() += p * rows;
}

// Weights of one page and their sums by head; positions at and beyond `count` weigh nothing.
void WeighPage(const Kernels& kernels, const float* scores, const float* largest, size_t count,
               float* weights, float* totals) {
  for (size_t h = 0; h < kHeadGroup; ++h) {
    float* row = weights + h * kPagePositions;
    totals[h] += kernels.exp_minus(scores + h * kPagePositions, largest[h], count, row);
    std::fill(row + count, row + kPagePositions, 0.0f);
  }
}

}  // namespace

size_t LatentScratchFloats(const LatentShape& shape) {
  return kHeadGroup * (PaddedToLine(shape.width()) + PaddedToLine(shape.latent)) +
         (1 + kKeptPages) * kPageScores;
}

void LatentAttention(const Kernels& kernels, const LatentShape& shape, size_t group,
                     const uint16_t* kv_b, const float* q, std::span<const float* const> pages,
                     size_t positions, float* scratch, float* out) {
  UseFixedCaches();
  PENSTOCK_CHECK(group * kHeadGroup < shape.heads);
  PENSTOCK_CHECK(positions >= 1 && pages.size() * kPagePositions >= positions);
  const size_t heads = std::min(kHeadGroup, shape.heads - group * kHeadGroup);
  const size_t page_count = (positions + kPagePositions - 1) / kPagePositions;
  const auto used = [&](size_t page) {
    return std::min(kPagePositions, positions - page * kPagePositions);
  };
  const Scratch parts(shape, scratch);
  LatentQueries(kernels, shape, heads, kv_b, q, parts.query);

  float largest[kHeadGroup];
  std::fill_n(largest, kHeadGroup, -INFINITY);
  for (size_t page = 0; page < page_count; ++page) {
    float* scores = page < kKeptPages ? parts.kept + page * kPageScores : parts.weights;
    ScorePage(shape, parts.query, pages[page], scores);
    for (size_t h = 0; h < kHeadGroup; ++h) {
      const float* row = scores + h * kPagePositions;
      largest[h] = std::max(largest[h], *std::max_element(row, row + used(page)));
    }
  }

  float totals[kHeadGroup] = {};
  std::fill_n(parts.context, kHeadGroup * shape.latent, 0.0f);
  for (size_t page = 0; page < page_count; ++page) {
    float* scores = page < kKeptPages ? parts.kept + page * kPageScores : parts.weights;
    if (page >= kKeptPages) ScorePage(shape, parts.query, pages[page], scores);
    WeighPage(kernels, scores, largest, used(page), parts.weights, totals);
    AddPage(shape, parts.weights, pages[page], parts.context);
  }

  const size_t rows = shape.nope + shape.value;
  for (size_t h = 0; h < heads; ++h) {
    float* context = parts.context + h * shape.latent;
    for (size_t i = 0; i < shape.latent; ++i) context[i] /= totals[h];
    kernels.matvec_bf16(kv_b + (h * rows + shape.nope) * shape.latent, shape.value, shape.latent,
                        context, shape.latent, 1, out + h * shape.value, shape.value);
  }
}

}  // namespace penstock::ops
