// Products with MXFP4 matrices in AVX-512: the sums of mxfp4.inc.h, in its order and bit by bit.
// Included inside an unnamed namespace, after bodies.inc.h.
//
// A register holds two blocks of 64 columns of one row, each in eight lanes of its own: never
// sixteen lanes of one sum. 32-bit lane 4i+g holds lane i of group g of the four. Where the scales
// are folded in, the blocks of two rows change places, so that one register holds the totals of
// both rows and takes their blocks one after the other.

constexpr size_t kPairColumns = 2 * kBlockColumns;

// VPERMW looks at five bits of a word, so the table of bf16 values stands there twice: it finds 32
// weights at once and leaves neighbours in one 32-bit lane, to be widened as bf16 is.
PENSTOCK_INLINE __m512i WeightTable() {
  return _mm512_broadcast_i64x4(_mm256_setr_epi16(
      0, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0, short(0x8000), short(0xbf00),
      short(0xbf80), short(0xbfc0), short(0xc000), short(0xc040), short(0xc080), short(0xc0c0)));
}

// Bytes 2i, 2i+8, 2i+1, 2i+9 of group g in 32-bit lane 4i+g: the low nibbles of the lane's two
// words are the codes that it takes first and second, and so on.
PENSTOCK_INLINE __m512i LaneCodes(__m512i bytes) {
  const __m512i first =
      _mm512_broadcast_i32x4(_mm_setr_epi32(0x09010800, 0x19111810, 0x29212820, 0x39313830));
  const __m512i lane = _mm512_setr_epi32(0, 0, 0, 0, 0x02020202, 0x02020202, 0x02020202, 0x02020202,
                                         0x04040404, 0x04040404, 0x04040404, 0x04040404, 0x06060606,
                                         0x06060606, 0x06060606, 0x06060606);
  return _mm512_permutexvar_epi8(_mm512_add_epi8(first, lane), bytes);
}

// scratch: [chunk of four positions][pair of blocks][8 vectors][positions][16 lanes], the vectors
// in the order of use.
inline void PreparePairs(const float* x, size_t x_stride, size_t cols, size_t positions,
                         float* scratch) {
  for (size_t base = 0; base < cols; base += kPairColumns) {
    for (size_t v = 0; v < 8; ++v) {
      for (size_t t = 0; t < positions; ++t) {
        for (size_t lane = 0; lane < 16; ++lane) {
          const size_t byte = 8 * (v % 4 / 2) + 2 * (lane / 4) + v % 2;
          const size_t column = base + 32 * (lane % 4) + 2 * byte + v / 4;
          *scratch++ = column < cols ? At(x, t * x_stride + column) : 0.0f;
        }
      }
    }
  }
}

inline size_t PaddedToPairs(size_t cols) {
  return (cols + kPairColumns - 1) / kPairColumns * kPairColumns;
}

void Mxfp4PreparePairs(const float* x, size_t x_stride, size_t cols, size_t positions,
                       float* scratch) {
  for (size_t t = 0; t < positions; t += kChunkPositions) {
    const size_t count = positions - t < kChunkPositions ? positions - t : kChunkPositions;
    PreparePairs(x + t * x_stride, x_stride, cols, count, scratch + t * PaddedToPairs(cols));
  }
}

PENSTOCK_INLINE __m512 EvenOfPairs(__m512i words) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}

PENSTOCK_INLINE __m512 OddOfPairs(__m512i words) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}

// The unscaled sums of a pair of blocks of R rows for T positions; x as prepared.
template <int R, int T>
PENSTOCK_INLINE void PairSums(const __m512i bytes[R], const float* x, __m512 sums[R][T]) {
  constexpr int kShift[4] = {0, 8, 4, 12};  // Low nibbles of all four bytes, then the high ones.
  __m512i codes[R];
  PENSTOCK_UNROLL
  for (int r = 0; r < R; ++r) codes[r] = LaneCodes(bytes[r]);
  PENSTOCK_UNROLL
  for (int k = 0; k < 4; ++k) {
    __m512i words[R];
    __m512 weights[R];
    PENSTOCK_UNROLL
    for (int r = 0; r < R; ++r) {
      const __m512i shifted = k == 0 ? codes[r] : _mm512_srli_epi16(codes[r], kShift[k]);
      words[r] = _mm512_permutexvar_epi16(shifted, WeightTable());
      weights[r] = EvenOfPairs(words[r]);
    }
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) {
      const __m512 input = _mm512_loadu_ps(x + 16 * (2 * k * T + t));
      PENSTOCK_UNROLL
      for (int r = 0; r < R; ++r) {
        sums[r][t] = k == 0 ? _mm512_mul_ps(weights[r], input)
                            : _mm512_fmadd_ps(weights[r], input, sums[r][t]);
      }
    }
    PENSTOCK_UNROLL
    for (int r = 0; r < R; ++r) weights[r] = OddOfPairs(words[r]);
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) {
      const __m512 input = _mm512_loadu_ps(x + 16 * ((2 * k + 1) * T + t));
      PENSTOCK_UNROLL
      for (int r = 0; r < R; ++r) sums[r][t] = _mm512_fmadd_ps(weights[r], input, sums[r][t]);
    }
  }
}

// The totals of two rows take one block of each.
template <int T>
PENSTOCK_INLINE void FoldBlock(const __m512 first[T], const __m512 second[T], bool high,
                               const float* scales, __m512 totals[T]) {
  const __m512 scale = _mm512_broadcast_f32x4(_mm_loadu_ps(scales));
  PENSTOCK_UNROLL
  for (int t = 0; t < T; ++t) {
    const __m512d a = _mm512_castps_pd(first[t]);
    const __m512d b = _mm512_castps_pd(second[t]);
    const __m512d both = high ? _mm512_unpackhi_pd(a, b) : _mm512_unpacklo_pd(a, b);
    totals[t] = _mm512_fmadd_ps(_mm512_castpd_ps(both), scale, totals[t]);
  }
}

// Scales of two rows as floats, two groups of the one, then two of the other; `groups` of each,
// rounded up to eight.
inline void WidenPairScales(const uint8_t* first, const uint8_t* second, size_t groups,
                            float* out) {
  for (size_t g = 0; g < groups; g += 8) {
    const size_t rest = groups - g;
    const auto there = static_cast<__mmask16>(rest < 8 ? (1u << rest) - 1u : 0xffu);
    const __m128i one = _mm_set1_epi8(127);
    const __m128i a = _mm_mask_loadu_epi8(one, there, first + g);
    const __m128i b = _mm_mask_loadu_epi8(one, there, second + g);
    const __m512i exponent = _mm512_cvtepu8_epi32(_mm_unpacklo_epi16(a, b));
    const __m512i normal =
        _mm512_max_epi32(_mm512_slli_epi32(exponent, 23), _mm512_set1_epi32(0x00400000));
    const __mmask16 nan = _mm512_cmpeq_epi32_mask(exponent, _mm512_set1_epi32(255));
    _mm512_storeu_si512(out + 2 * g, _mm512_mask_mov_epi32(normal, nan, _mm512_set1_epi32(-1)));
  }
}

struct PairedMatrix {
  const uint8_t* packed;
  const uint8_t* scales;
  size_t cols;
};

// `count` groups of R rows from group `first` on.
template <int R, int T>
PENSTOCK_INLINE void PairChunk(const PairedMatrix& w, const size_t rows[R], size_t first,
                               size_t count, const float* x, __m512 totals[R / 2][T]) {
  float widened[R / 2][2 * kChunkGroups];
  const uint8_t* codes[R];
  PENSTOCK_UNROLL
  for (int r = 0; r < R; ++r) codes[r] = w.packed + rows[r] * (w.cols / 2) + 16 * first;
  PENSTOCK_UNROLL
  for (int p = 0; p < R / 2; ++p) {
    const uint8_t* scales = w.scales + first;
    WidenPairScales(scales + rows[2 * p] * (w.cols / 32), scales + rows[2 * p + 1] * (w.cols / 32),
                    count, widened[p]);
  }
  size_t g = 0;
  for (; g + 4 <= count; g += 4) {
    __m512i bytes[R];
    __m512 sums[R][T];
    PENSTOCK_UNROLL
    for (int r = 0; r < R; ++r) bytes[r] = _mm512_loadu_si512(codes[r] + 16 * g);
    PairSums<R, T>(bytes, x, sums);
    PENSTOCK_UNROLL
    for (int p = 0; p < R / 2; ++p) {
      FoldBlock<T>(sums[2 * p], sums[2 * p + 1], false, widened[p] + 2 * g, totals[p]);
      FoldBlock<T>(sums[2 * p], sums[2 * p + 1], true, widened[p] + 2 * g + 4, totals[p]);
    }
    x += kPairColumns * T;
  }
  if (g == count) return;
  const __mmask64 there = (uint64_t{1} << (16 * (count - g))) - 1;
  for (int p = 0; p < R / 2; ++p) {
    const __m512i bytes[2] = {_mm512_maskz_loadu_epi8(there, codes[2 * p] + 16 * g),
                              _mm512_maskz_loadu_epi8(there, codes[2 * p + 1] + 16 * g)};
    __m512 sums[2][T];
    PairSums<2, T>(bytes, x, sums);
    FoldBlock<T>(sums[0], sums[1], false, widened[p] + 2 * g, totals[p]);
    if (count - g == 3) FoldBlock<T>(sums[0], sums[1], true, widened[p] + 2 * g + 4, totals[p]);
  }
}

template <int R, int T>
inline void PairTile(const PairedMatrix& w, const size_t rows[R], const float* x, float* y,
                     size_t y_stride) {
  __m512 totals[R / 2][T];
  PENSTOCK_UNROLL
  for (int p = 0; p < R / 2; ++p) {
    PENSTOCK_UNROLL
    for (int t = 0; t < T; ++t) totals[p][t] = _mm512_setzero_ps();
  }
  const size_t groups = w.cols / 32;
  for (size_t g = 0; g < groups; g += kChunkGroups) {
    const size_t count = groups - g < kChunkGroups ? groups - g : kChunkGroups;
    PairChunk<R, T>(w, rows, g, count, x + 32 * g * T, totals);
  }
  // Lane l of a row: 4 (l % 4) + l / 4, two further for the second row.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (int p = 0; p < R / 2; ++p) {
    for (int t = 0; t < T; ++t) {
      float* out = y + static_cast<size_t>(t) * y_stride;
      const __m512 lanes = _mm512_permutexvar_ps(order, totals[p][t]);
      out[rows[2 * p]] = ReduceAdd({_mm512_castps512_ps256(lanes)});
      out[rows[2 * p + 1]] = ReduceAdd({_mm512_extractf32x8_ps(lanes, 1)});
    }
  }
}

// All rows: R at a time, one from each of R equal parts of the matrix, because a few long streams
// are read faster than short neighbouring ones; those left over, two by two.
template <int R, int T>
inline void PairRows(const PairedMatrix& w, size_t count, const float* x, float* y,
                     size_t y_stride) {
  const size_t part = count / R;
  for (size_t r = 0; r < part; ++r) {
    size_t rows[R];
    for (size_t i = 0; i < R; ++i) rows[i] = r + i * part;
    PairTile<R, T>(w, rows, x, y, y_stride);
  }
  for (size_t r = R * part; r < count; r += 2) {
    const size_t rows[2] = {r, r + 1 < count ? r + 1 : r};
    PairTile<2, T>(w, rows, x, y, y_stride);
  }
}

void MatvecMxfp4Pairs(const uint8_t* packed, const uint8_t* scales, size_t rows, size_t cols,
                      const float* scratch, size_t positions, float* y, size_t y_stride) {
  const PairedMatrix w{packed, scales, cols};
  for (size_t t = 0; t < positions; t += kChunkPositions) {
    const size_t chunk = positions - t < kChunkPositions ? positions - t : kChunkPositions;
    const float* x = scratch + t * PaddedToPairs(cols);
    float* out = y + t * y_stride;
    if (chunk == 4) PairRows<4, 4>(w, rows, x, out, y_stride);
    if (chunk == 3) PairRows<4, 3>(w, rows, x, out, y_stride);
    if (chunk == 2) PairRows<4, 2>(w, rows, x, out, y_stride);
    if (chunk == 1) PairRows<4, 1>(w, rows, x, out, y_stride);
  }
}
