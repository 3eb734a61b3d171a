#include <cmath>

#include "ops/reference/reference.h"
#include "runtime/check.h"

namespace penstock::ops::reference {
namespace {

double Dot(View a, View b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// One head: rows of kv_b [nope + value][latent], q [nope + rope] -> [value].
Vector HeadAttention(const LatentShape& shape, View rows, View q, View cache, size_t positions) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(shape.nope + shape.rope));
  Vector scores(positions);
  std::vector<Vector> values;
  double largest = -INFINITY;
  for (size_t s = 0; s < positions; ++s) {
    const View latent = cache.subspan(s * shape.width(), shape.latent);
    const View shared_key = cache.subspan(s * shape.width() + shape.latent, shape.rope);
    const Vector expanded = MatVec(rows, shape.nope + shape.value, shape.latent, latent);
    const View key = View(expanded).first(shape.nope);
    scores[s] = (Dot(q.first(shape.nope), key) + Dot(q.subspan(shape.nope), shared_key)) * scale;
    values.emplace_back(expanded.begin() + static_cast<std::ptrdiff_t>(shape.nope), expanded.end());
    largest = std::fmax(largest, scores[s]);
  }
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - largest);
  Vector out(shape.value, 0.0);
  for (size_t s = 0; s < positions; ++s) {
    for (size_t j = 0; j < shape.value; ++j) out[j] += scores[s] / total * values[s][j];
  }
  return out;
}

}  // namespace

Vector ExpandedAttention(const LatentShape& shape, View kv_b, View q, View cache,
                         size_t positions) {
  const size_t rows = shape.nope + shape.value;
  const size_t query = shape.nope + shape.rope;
  PENSTOCK_CHECK(kv_b.size() == shape.heads * rows * shape.latent);
  PENSTOCK_CHECK(q.size() == shape.heads * query);
  PENSTOCK_CHECK(positions >= 1 && cache.size() >= positions * shape.width());
  Vector out;
  for (size_t h = 0; h < shape.heads; ++h) {
    const Vector head =
        HeadAttention(shape, kv_b.subspan(h * rows * shape.latent, rows * shape.latent),
                      q.subspan(h * query, query), cache, positions);
    out.insert(out.end(), head.begin(), head.end());
  }
  return out;
}

}  // namespace penstock::ops::reference
