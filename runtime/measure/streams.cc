#include "runtime/measure/streams.h"

#include "runtime/check.h"

namespace penstock {
namespace {

// Four lanes by the compiler's own vectors.
using Vector = float __attribute__((vector_size(16), aligned(4)));

template <int S>
double Sum(std::span<const float> values) {
  Vector sums[S] = {};
  const size_t part = values.size() / S / 16 * 16;
  for (size_t i = 0; i < part; i += 16) {
#pragma GCC unroll 8
    for (int s = 0; s < S; ++s) {
      const auto* line =
          reinterpret_cast<const Vector*>(values.data() + static_cast<size_t>(s) * part + i);
      sums[s] += (line[0] + line[1]) + (line[2] + line[3]);
    }
  }
  double total = 0;
  for (const Vector& sum : sums) total += static_cast<double>(sum[0] + sum[1] + sum[2] + sum[3]);
  return total;
}

}  // namespace

double SumStreams(std::span<const float> values, int streams) {
  PENSTOCK_CHECK(streams == 1 || streams == 4 || streams == 8);
  if (streams == 1) return Sum<1>(values);
  if (streams == 4) return Sum<4>(values);
  return Sum<8>(values);
}

}  // namespace penstock
