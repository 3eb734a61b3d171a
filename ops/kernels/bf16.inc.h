// Products with bf16 matrices, and widening. Included inside an unnamed namespace.
//
// Order of the sums, part of the contract:
//   matvec_bf16             eight lanes; lane l starts at +0 and takes columns l, l+8, l+16, ...
//                           by FMA (weight * x + sum), the row padded with zeros to a multiple of
//                           eight; then ((0+4)+(2+6)) + ((1+5)+(3+7)).
//   matvec_bf16_transposed  every column on its own, from +0, rows in ascending order by FMA.
// So neither depends on how many rows or positions are worked on together.

constexpr size_t kNearBytes = 2048;               // Prefetch within the tile's own rows,
constexpr size_t kTileBytes = size_t{256} << 10;  // or the next tile, while two fit a cache.
constexpr size_t kBandBytes = size_t{256} << 10;

// Eight columns of R rows for T positions.
template <int R, int T>
PENSTOCK_INLINE void Bf16Step(const uint16_t* w, size_t cols, const float* x, size_t x_stride,
                              F8 sums[R][T]) {
  F8 input[T];
  PENSTOCK_UNROLL
  for (int t = 0; t < T; ++t) input[t] = Load(x + static_cast<size_t>(t) * x_stride);
  PENSTOCK_UNROLL
  for (int r = 0; r < R; ++r) {
    const F8 weight = WidenBf16(w + static_cast<size_t>(r) * cols);
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) sums[r][t] = Fma(weight, input[t], sums[r][t]);
  }
}

template <int R, int T>
inline void Bf16Tile(const uint16_t* w, size_t cols, const float* x, size_t x_stride, float* y,
                     size_t y_stride, size_t ahead) {
  F8 sums[R][T];
  PENSTOCK_UNROLL
  for (int r = 0; r < R; ++r) {
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) sums[r][t] = Zero();
  }
  size_t c = 0;
  for (; c + 32 <= cols; c += 32) {  // One cache line of every row.
    PENSTOCK_UNROLL
    for (int r = 0; r < R; ++r) Prefetch(w + static_cast<size_t>(r) * cols + c, ahead);
    PENSTOCK_UNROLL
    for (int step = 0; step < 32; step += 8) {
      Bf16Step<R, T>(w + c + step, cols, x + c + step, x_stride, sums);
    }
  }
  for (; c + 8 <= cols; c += 8) Bf16Step<R, T>(w + c, cols, x + c, x_stride, sums);
  if (c < cols) {
    for (int r = 0; r < R; ++r) {
      const F8 weight = WidenBf16Part(w + static_cast<size_t>(r) * cols + c, cols - c);
      for (int t = 0; t < T; ++t) {
        const F8 input = LoadPart(x + static_cast<size_t>(t) * x_stride + c, cols - c);
        sums[r][t] = Fma(weight, input, sums[r][t]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < T; ++t) y[static_cast<size_t>(t) * y_stride + r] = ReduceAdd(sums[r][t]);
  }
}

// All rows for T positions, in tiles of R rows and then of fewer. While a tile is worked on, the
// next one is fetched: the hardware alone starts anew on every page of every row.
template <int R, int T>
inline void Bf16Rows(const uint16_t* w, size_t rows, size_t cols, const float* x, size_t x_stride,
                     float* y, size_t y_stride) {
  const size_t tile = R * cols * sizeof(uint16_t);
  size_t r = 0;
  for (; r + R <= rows; r += R) {
    const bool next = r + 2 * R <= rows && tile <= kTileBytes;
    Bf16Tile<R, T>(w + r * cols, cols, x, x_stride, y + r, y_stride, next ? tile : kNearBytes);
  }
  if constexpr (R > 1) {
    if (r < rows) {
      Bf16Rows<R / 2, T>(w + r * cols, rows - r, cols, x, x_stride, y + r, y_stride);
    }
  }
}

// Up to four positions in one pass over the rows. Eight row streams come near the memory's rate for
// one position; with more positions the registers hold fewer rows (penstock bench kernels).
inline void Bf16Chunk(const uint16_t* w, size_t rows, size_t cols, const float* x, size_t x_stride,
                      size_t positions, float* y, size_t y_stride) {
  if (positions == 4) Bf16Rows<3, 4>(w, rows, cols, x, x_stride, y, y_stride);
  if (positions == 3) Bf16Rows<4, 3>(w, rows, cols, x, x_stride, y, y_stride);
  if (positions == 2) Bf16Rows<4, 2>(w, rows, cols, x, x_stride, y, y_stride);
  if (positions == 1) Bf16Rows<8, 1>(w, rows, cols, x, x_stride, y, y_stride);
}

// More than four positions take several passes, over bands of rows that the second pass still
// finds in a cache.
void MatvecBf16(const uint16_t* w, size_t rows, size_t cols, const float* x, size_t x_stride,
                size_t positions, float* y, size_t y_stride) {
  const size_t fitting = kBandBytes / sizeof(uint16_t) / (cols + 1) / 24 * 24;
  const size_t band = positions <= 4 ? rows : fitting + 24;  // Whole tiles of 3, 4 and 8 rows.
  for (size_t r = 0; r < rows; r += band) {
    const size_t count = rows - r < band ? rows - r : band;
    for (size_t t = 0; t < positions; t += 4) {
      const size_t chunk = positions - t < 4 ? positions - t : 4;
      Bf16Chunk(w + r * cols, count, cols, x + t * x_stride, x_stride, chunk, y + t * y_stride + r,
                y_stride);
    }
  }
}

// B steps of eight columns over all rows.
template <int B>
inline void Bf16Columns(const uint16_t* w, size_t rows, size_t cols, const float* x, float* y) {
  F8 sums[B];
  PENSTOCK_UNROLL
  for (int b = 0; b < B; ++b) sums[b] = Zero();
  for (size_t r = 0; r < rows; ++r) {
    const F8 input = Set1(At(x, r));
    PENSTOCK_UNROLL
    for (int b = 0; b < B; ++b) sums[b] = Fma(WidenBf16(w + r * cols + 8 * b), input, sums[b]);
  }
  PENSTOCK_UNROLL
  for (int b = 0; b < B; ++b) Store(y + 8 * b, sums[b]);
}

void MatvecBf16Transposed(const uint16_t* w, size_t rows, size_t cols, const float* x, float* y) {
  size_t c = 0;
  for (; c + 64 <= cols; c += 64) Bf16Columns<8>(w + c, rows, cols, x, y + c);
  for (; c + 8 <= cols; c += 8) Bf16Columns<1>(w + c, rows, cols, x, y + c);
  if (c == cols) return;
  F8 sum = Zero();
  for (size_t r = 0; r < rows; ++r) {
    sum = Fma(WidenBf16Part(w + r * cols + c, cols - c), Set1(At(x, r)), sum);
  }
  StorePart(y + c, sum, cols - c);
}

void WidenBf16Array(const uint16_t* w, size_t n, float* out) {
  EachStep(n, [=](size_t i, size_t count) {
    StoreStep(out + i, count == 8 ? WidenBf16(w + i) : WidenBf16Part(w + i, count), count);
  });
}
