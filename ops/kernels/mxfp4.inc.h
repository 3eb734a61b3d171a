// Products with MXFP4 matrices (OCP MX specification 1.0: E2M1 codes, one E8M0 scale per 32
// columns), decoded in registers. Included inside an unnamed namespace.
//
// Order of the sum, part of the contract. Columns go in blocks of 64: two groups, padded with
// zeros where the row has an odd number of them. Byte b of a group holds columns 2b (low nibble)
// and 2b+1 (high nibble). Eight lanes: lanes 0..3 belong to the first group of a block, 4..7 to
// the second; lane i of a half takes eight products, in this order,
//     bytes 2i, 2i+1, 2i+8, 2i+9, low nibble each, then the same bytes, high nibble,
// the first as a product, the rest by FMA (weight * x + sum): the unscaled group sum, which is
// then scaled and added to the lane's total by one FMA (sum * scale + total), blocks ascending.
// Last ((0+4)+(2+6)) + ((1+5)+(3+7)). The scale is thus folded into the group sum for every T.
//
// Scale 0 is 2^-127, 255 makes the row NaN; non-finite x gives non-finite y.

constexpr size_t kBlockColumns = 64;
constexpr size_t kChunkPositions = 4;  // Positions worked on together.
constexpr size_t kChunkGroups = 256;   // Groups of a row whose scales are widened at once.
constexpr size_t kLeastAhead = 4096;   // Bytes of prefetch for short rows; else the next tile.

// scratch: for each chunk of up to four positions [blocks][8 vectors][positions][8 lanes], in the
// order of use above.
inline void PrepareChunk(const float* x, size_t x_stride, size_t cols, size_t positions,
                         float* scratch) {
  for (size_t base = 0; base < cols; base += kBlockColumns) {
    for (size_t v = 0; v < 8; ++v) {
      for (size_t t = 0; t < positions; ++t) {
        for (size_t lane = 0; lane < 8; ++lane) {
          const size_t byte = 8 * (v % 4 / 2) + 2 * (lane % 4) + v % 2;
          const size_t column = base + 32 * (lane / 4) + 2 * byte + v / 4;
          *scratch++ = column < cols ? At(x, t * x_stride + column) : 0.0f;
        }
      }
    }
  }
}

void Mxfp4Prepare(const float* x, size_t x_stride, size_t cols, size_t positions, float* scratch) {
  const size_t padded = (cols + kBlockColumns - 1) / kBlockColumns * kBlockColumns;
  for (size_t t = 0; t < positions; t += kChunkPositions) {
    const size_t count = positions - t < kChunkPositions ? positions - t : kChunkPositions;
    PrepareChunk(x + t * x_stride, x_stride, cols, count, scratch + t * padded);
  }
}

// sums[t] takes sixteen weights for T positions: those of even bytes, then those of odd ones.
template <int T, bool kFirst>
PENSTOCK_INLINE void AddPairs(const WeightPairs& pairs, const float* x, F8 sums[T]) {
  const F8 even = EvenWeights(pairs);
  PENSTOCK_UNROLL
  for (int t = 0; t < T; ++t) {
    sums[t] = kFirst ? Mul(even, Load(x + 8 * t)) : Fma(even, Load(x + 8 * t), sums[t]);
  }
  const F8 odd = OddWeights(pairs);
  PENSTOCK_UNROLL
  for (int t = 0; t < T; ++t) sums[t] = Fma(odd, Load(x + 8 * (T + t)), sums[t]);
}

// U neighbouring blocks of one row, side by side: one chain of additions alone would wait for
// itself (penstock bench kernels). Their totals are added in ascending order all the same.
template <int T, int U>
PENSTOCK_INLINE void Mxfp4Blocks(const uint8_t* codes, const float* scales, const float* x,
                                 F8 totals[T]) {
  F8 sums[U][T];
  PENSTOCK_UNROLL
  for (int nibble = 0; nibble < 2; ++nibble) {
    WeightPairs pairs[U][2];
    PENSTOCK_UNROLL
    for (int u = 0; u < U; ++u) DecodeCodes(LoadCodes(codes + 32 * u), nibble, pairs[u]);
    PENSTOCK_UNROLL
    for (int u = 0; u < U; ++u) {
      const float* input = x + (64 * u + 32 * nibble) * T;
      if (nibble == 0) {
        AddPairs<T, true>(pairs[u][0], input, sums[u]);
      } else {
        AddPairs<T, false>(pairs[u][0], input, sums[u]);
      }
    }
    PENSTOCK_UNROLL
    for (int u = 0; u < U; ++u) {
      AddPairs<T, false>(pairs[u][1], x + (64 * u + 32 * nibble + 16) * T, sums[u]);
    }
  }
  PENSTOCK_UNROLL
  for (int u = 0; u < U; ++u) {
    const F8 scale = SpreadScales(scales + 2 * u);
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) totals[t] = Fma(sums[u][t], scale, totals[t]);
  }
}

// Scales of `groups` groups as floats; up to seven more are written.
inline void WidenRowScales(const uint8_t* scales, size_t groups, float* out) {
  size_t g = 0;
  for (; g + 8 <= groups; g += 8) Store(out + g, WidenScales(scales + g));
  if (g == groups) return;
  uint8_t padded[8] = {127, 127, 127, 127, 127, 127, 127, 127};
  for (size_t i = 0; g + i < groups; ++i) padded[i] = scales[g + i];
  Store(out + g, WidenScales(padded));
}

// One chunk of scales of R rows: `groups` groups of each from group `first` on.
template <int R, int T>
PENSTOCK_INLINE void Mxfp4Chunk(const uint8_t* packed, const uint8_t* scales, size_t cols,
                                size_t first, size_t groups, const float* x, F8 totals[R][T]) {
  float widened[R][kChunkGroups];
  PENSTOCK_UNROLL
  for (int r = 0; r < R; ++r) {
    WidenRowScales(scales + static_cast<size_t>(r) * (cols / 32) + first, groups, widened[r]);
  }
  const uint8_t* codes = packed + 16 * first;
  const size_t row_bytes = cols / 2;
  const size_t ahead = R * row_bytes < kLeastAhead ? kLeastAhead : R * row_bytes;
  size_t g = 0;
  for (; g + 4 <= groups; g += 4) {
    PENSTOCK_UNROLL
    for (int r = 0; r < R; ++r) {
      const uint8_t* row = codes + static_cast<size_t>(r) * row_bytes + 16 * g;
      Prefetch(row, ahead);
      Mxfp4Blocks<T, 2>(row, widened[r] + g, x, totals[r]);
    }
    x += 2 * kBlockColumns * T;
  }
  for (; g < groups; g += 2) {
    for (int r = 0; r < R; ++r) {
      const uint8_t* row = codes + static_cast<size_t>(r) * row_bytes + 16 * g;
      uint8_t block[32] = {};
      __builtin_memcpy(block, row, groups - g >= 2 ? 32 : 16);
      Mxfp4Blocks<T, 1>(block, widened[r] + g, x, totals[r]);
    }
    x += kBlockColumns * T;
  }
}

template <int R, int T>
inline void Mxfp4Tile(const uint8_t* packed, const uint8_t* scales, size_t cols, const float* x,
                      float* y, size_t y_stride) {
  F8 totals[R][T];
  PENSTOCK_UNROLL
  for (int r = 0; r < R; ++r) {
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) totals[r][t] = Zero();
  }
  const size_t groups = cols / 32;
  for (size_t g = 0; g < groups; g += kChunkGroups) {
    const size_t count = groups - g < kChunkGroups ? groups - g : kChunkGroups;
    Mxfp4Chunk<R, T>(packed, scales, cols, g, count, x + 32 * g * T, totals);
  }
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < T; ++t) y[static_cast<size_t>(t) * y_stride + r] = ReduceAdd(totals[r][t]);
  }
}

// All rows, in tiles of R and then of fewer: with several positions a tile's rows share x while it
// is in the nearest cache, which it outgrows as a whole.
template <int R, int T>
inline void Mxfp4Rows(const uint8_t* packed, const uint8_t* scales, size_t rows, size_t cols,
                      const float* x, float* y, size_t y_stride) {
  size_t r = 0;
  for (; r + R <= rows; r += R) {
    Mxfp4Tile<R, T>(packed + r * (cols / 2), scales + r * (cols / 32), cols, x, y + r, y_stride);
  }
  if constexpr (R > 1) {
    if (r < rows) {
      Mxfp4Rows<R / 2, T>(packed + r * (cols / 2), scales + r * (cols / 32), rows - r, cols, x,
                          y + r, y_stride);
    }
  }
}

void MatvecMxfp4(const uint8_t* packed, const uint8_t* scales, size_t rows, size_t cols,
                 const float* scratch, size_t positions, float* y, size_t y_stride) {
  const size_t padded = (cols + kBlockColumns - 1) / kBlockColumns * kBlockColumns;
  size_t t = 0;
  for (; t + kChunkPositions <= positions; t += kChunkPositions) {
    Mxfp4Rows<4, 4>(packed, scales, rows, cols, scratch + t * padded, y + t * y_stride, y_stride);
  }
  scratch += t * padded;
  y += t * y_stride;
  if (positions - t == 3) Mxfp4Rows<4, 3>(packed, scales, rows, cols, scratch, y, y_stride);
  if (positions - t == 2) Mxfp4Rows<4, 2>(packed, scales, rows, cols, scratch, y, y_stride);
  if (positions - t == 1) Mxfp4Rows<1, 1>(packed, scales, rows, cols, scratch, y, y_stride);
}
