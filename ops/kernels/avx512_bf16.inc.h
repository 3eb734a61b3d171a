// Products with bf16 matrices in AVX-512: the sums of bf16.inc.h, in its order and bit by bit.
// Included inside an unnamed namespace, after bodies.inc.h.
//
// A register holds eight columns of two rows, each in eight lanes of its own. Sixteen columns of
// both rows are loaded together and a permutation of words, which leaves zeros below each, widens
// eight of them: six instructions for 32 weights, where eight lanes take twelve.

// Columns 8 * step .. of both rows as f32, of the sixteen that each half holds.
PENSTOCK_INLINE __m512 WidenBoth(__m512i columns, int step) {
  const __m512i first =
      _mm512_setr_epi32(0x00000000, 0x00010000, 0x00020000, 0x00030000, 0x00040000, 0x00050000,
                        0x00060000, 0x00070000, 0x00100000, 0x00110000, 0x00120000, 0x00130000,
                        0x00140000, 0x00150000, 0x00160000, 0x00170000);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(0x00080000));
  return _mm512_castsi512_ps(
      _mm512_maskz_permutexvar_epi16(0xaaaaaaaau, step == 0 ? first : second, columns));
}

// Sixteen columns of P pairs of rows for T positions.
template <int P, int T>
PENSTOCK_INLINE void PairStep(const uint16_t* w, size_t cols, const float* x, size_t x_stride,
                              __m512 sums[P][T]) {
  __m512i columns[P];
  PENSTOCK_UNROLL
  for (int p = 0; p < P; ++p) {
    const uint16_t* row = w + static_cast<size_t>(2 * p) * cols;
    const __m256i even = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
    const __m256i odd = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + cols));
    columns[p] = _mm512_inserti64x4(_mm512_castsi256_si512(even), odd, 1);
  }
  PENSTOCK_UNROLL
  for (int step = 0; step < 2; ++step) {
    __m512 input[T];
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) {
      input[t] =
          _mm512_broadcast_f32x8(_mm256_loadu_ps(x + static_cast<size_t>(t) * x_stride + 8 * step));
    }
    PENSTOCK_UNROLL
    for (int p = 0; p < P; ++p) {
      const __m512 weights = WidenBoth(columns[p], step);
      PENSTOCK_UNROLL
      for (int t = 0; t < T; ++t) sums[p][t] = _mm512_fmadd_ps(weights, input[t], sums[p][t]);
    }
  }
}

// The columns from `done` on, fewer than sixteen, and the lanes' sums.
template <int P, int T>
inline void FinishPairs(const uint16_t* w, size_t cols, size_t done, const float* x,
                        size_t x_stride, const __m512 sums[P][T], float* y, size_t y_stride) {
  for (int r = 0; r < 2 * P; ++r) {
    const uint16_t* row = w + static_cast<size_t>(r) * cols;
    for (int t = 0; t < T; ++t) {
      F8 sum{r % 2 == 0 ? _mm512_castps512_ps256(sums[r / 2][t])
                        : _mm512_extractf32x8_ps(sums[r / 2][t], 1)};
      for (size_t c = done; c < cols; c += 8) {
        const size_t count = cols - c < 8 ? cols - c : 8;
        const F8 weight = count == 8 ? WidenBf16(row + c) : WidenBf16Part(row + c, count);
        sum = Fma(weight, LoadStep(x + static_cast<size_t>(t) * x_stride + c, count), sum);
      }
      y[static_cast<size_t>(t) * y_stride + r] = ReduceAdd(sum);
    }
  }
}

template <int P, int T>
inline void Bf16PairTile(const uint16_t* w, size_t cols, const float* x, size_t x_stride, float* y,
                         size_t y_stride, size_t ahead) {
  __m512 sums[P][T];
  PENSTOCK_UNROLL
  for (int p = 0; p < P; ++p) {
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) sums[p][t] = _mm512_setzero_ps();
  }
  size_t c = 0;
  for (; c + 32 <= cols; c += 32) {  // One cache line of every row.
    PENSTOCK_UNROLL
    for (int r = 0; r < 2 * P; ++r) Prefetch(w + static_cast<size_t>(r) * cols + c, ahead);
    PairStep<P, T>(w + c, cols, x + c, x_stride, sums);
    PairStep<P, T>(w + c + 16, cols, x + c + 16, x_stride, sums);
  }
  if (c + 16 <= cols) {
    PairStep<P, T>(w + c, cols, x + c, x_stride, sums);
    c += 16;
  }
  FinishPairs<P, T>(w, cols, c, x, x_stride, sums, y, y_stride);
}

// All rows for T positions in tiles of P pairs, the rest in smaller ones. A tile is fetched while
// the one before it is worked on.
template <int P, int T>
inline void Bf16PairRows(const uint16_t* w, size_t rows, size_t cols, const float* x,
                         size_t x_stride, float* y, size_t y_stride) {
  const size_t tile = 2 * P * cols * sizeof(uint16_t);
  size_t r = 0;
  for (; r + 2 * P <= rows; r += 2 * P) {
    const bool next = r + 4 * P <= rows && tile <= kTileBytes;
    const size_t ahead = next ? tile : kNearBytes;
    Bf16PairTile<P, T>(w + r * cols, cols, x, x_stride, y + r, y_stride, ahead);
  }
  if (r == rows) return;
  if constexpr (P > 1) {
    Bf16PairRows<P / 2, T>(w + r * cols, rows - r, cols, x, x_stride, y + r, y_stride);
  } else {
    Bf16Rows<1, T>(w + r * cols, rows - r, cols, x, x_stride, y + r, y_stride);
  }
}

inline void Bf16PairChunk(const uint16_t* w, size_t rows, size_t cols, const float* x,
                          size_t x_stride, size_t positions, float* y, size_t y_stride) {
  if (positions == 4) Bf16PairRows<4, 4>(w, rows, cols, x, x_stride, y, y_stride);
  if (positions == 3) Bf16PairRows<4, 3>(w, rows, cols, x, x_stride, y, y_stride);
  if (positions == 2) Bf16PairRows<4, 2>(w, rows, cols, x, x_stride, y, y_stride);
  if (positions == 1) Bf16PairRows<4, 1>(w, rows, cols, x, x_stride, y, y_stride);
}

// Bands of rows as in MatvecBf16.
void MatvecBf16Pairs(const uint16_t* w, size_t rows, size_t cols, const float* x, size_t x_stride,
                     size_t positions, float* y, size_t y_stride) {
  const size_t fitting = kBandBytes / sizeof(uint16_t) / (cols + 1) / 8 * 8;
  const size_t band = positions <= 4 ? rows : fitting + 8;  // Whole tiles.
  for (size_t r = 0; r < rows; r += band) {
    const size_t count = rows - r < band ? rows - r : band;
    for (size_t t = 0; t < positions; t += 4) {
      const size_t chunk = positions - t < 4 ? positions - t : 4;
      Bf16PairChunk(w + r * cols, count, cols, x + t * x_stride, x_stride, chunk,
                    y + t * y_stride + r, y_stride);
    }
  }
}
