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
constexpr size_t kScaleSteps = 32;     // Steps of eight scales widened at once.

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

template <int T>
inline void Mxfp4Block(const CodeBlock& codes, F8 scale, const float* x, F8 totals[T]) {
  F8 sums[T];
  PENSTOCK_UNROLL
  for (int nibble = 0; nibble < 2; ++nibble) {
    F8 w[4];
    DecodeCodes(codes, nibble, w);
    PENSTOCK_UNROLL
    for (int v = 0; v < 4; ++v) {
      PENSTOCK_UNROLL
      for (int t = 0; t < T; ++t) {
        const F8 input = Load(x + 8 * ((4 * nibble + v) * T + t));
        sums[t] = nibble + v == 0 ? Mul(w[v], input) : Fma(w[v], input, sums[t]);
      }
    }
  }
  PENSTOCK_UNROLL
  for (int t = 0; t < T; ++t) totals[t] = Fma(sums[t], scale, totals[t]);
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

template <int T>
inline void Mxfp4Row(const uint8_t* packed, const uint8_t* scales, size_t cols, const float* x,
                     float* y, size_t y_stride) {
  F8 totals[T];
  PENSTOCK_UNROLL
  for (int t = 0; t < T; ++t) totals[t] = Zero();
  float widened[8 * kScaleSteps];
  const size_t groups = cols / 32;
  for (size_t g = 0; g < groups; g += 8 * kScaleSteps) {
    const size_t count = groups - g < 8 * kScaleSteps ? groups - g : 8 * kScaleSteps;
    WidenRowScales(scales + g, count, widened);
    const uint8_t* codes = packed + 16 * g;
    size_t i = 0;
    for (; i + 2 <= count; i += 2) {
      Mxfp4Block<T>(LoadCodes(codes + 16 * i), SpreadScales(widened + i), x, totals);
      x += kBlockColumns * T;
    }
    if (i < count) {
      uint8_t padded[32] = {};
      __builtin_memcpy(padded, codes + 16 * i, 16);
      Mxfp4Block<T>(LoadCodes(padded), SpreadScales(widened + i), x, totals);
    }
  }
  for (int t = 0; t < T; ++t) y[static_cast<size_t>(t) * y_stride] = ReduceAdd(totals[t]);
}

template <int T>
inline void Mxfp4Rows(const uint8_t* packed, const uint8_t* scales, size_t rows, size_t cols,
                      const float* x, float* y, size_t y_stride) {
  for (size_t r = 0; r < rows; ++r) {
    Mxfp4Row<T>(packed + r * (cols / 2), scales + r * (cols / 32), cols, x, y + r, y_stride);
  }
}

void MatvecMxfp4(const uint8_t* packed, const uint8_t* scales, size_t rows, size_t cols,
                 const float* scratch, size_t positions, float* y, size_t y_stride) {
  const size_t padded = (cols + kBlockColumns - 1) / kBlockColumns * kBlockColumns;
  size_t t = 0;
  for (; t + kChunkPositions <= positions; t += kChunkPositions) {
    Mxfp4Rows<kChunkPositions>(packed, scales, rows, cols, scratch + t * padded, y + t * y_stride,
                               y_stride);
  }
  scratch += t * padded;
  y += t * y_stride;
  if (positions - t == 3) Mxfp4Rows<3>(packed, scales, rows, cols, scratch, y, y_stride);
  if (positions - t == 2) Mxfp4Rows<2>(packed, scales, rows, cols, scratch, y, y_stride);
  if (positions - t == 1) Mxfp4Rows<1>(packed, scales, rows, cols, scratch, y, y_stride);
}
