// Eight lanes of f32 in plain C++: the meaning of every lane operation. The other lane files give
// the same bits with one instruction or a few. Included inside an unnamed namespace.
//
// std::fma is exact by definition; where the CPU has no such instruction the C library computes
// the same bits slowly.

struct F8 {
  float v[8];
};

inline float BitsToFloat(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t FloatToBits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <class F>
inline F8 EachLane(F f) {
  F8 r;
  for (int i = 0; i < 8; ++i) r.v[i] = f(i);
  return r;
}

inline F8 Set1(float a) {
  return EachLane([=](int) { return a; });
}

inline F8 Load(const float* p) {
  F8 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}

inline void Store(float* p, F8 a) { __builtin_memcpy(p, &a, sizeof a); }

inline F8 Add(F8 a, F8 b) {
  return EachLane([&](int i) { return a.v[i] + b.v[i]; });
}
inline F8 Sub(F8 a, F8 b) {
  return EachLane([&](int i) { return a.v[i] - b.v[i]; });
}
inline F8 Mul(F8 a, F8 b) {
  return EachLane([&](int i) { return a.v[i] * b.v[i]; });
}
inline F8 Div(F8 a, F8 b) {
  return EachLane([&](int i) { return a.v[i] / b.v[i]; });
}

// a * b + c with one rounding.
inline F8 Fma(F8 a, F8 b, F8 c) {
  return EachLane([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}

// a > b ? a : b, so b where either is NaN.
inline F8 Max(F8 a, F8 b) {
  return EachLane([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}

// a < b ? a : b, so b where either is NaN.
inline F8 Min(F8 a, F8 b) {
  return EachLane([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}

inline F8 Abs(F8 a) {
  return EachLane([&](int i) { return BitsToFloat(FloatToBits(a.v[i]) & 0x7fffffffu); });
}

// The magnitude bits of a with the sign bit of b.
inline F8 WithSign(F8 a, F8 b) {
  return EachLane([&](int i) {
    return BitsToFloat((FloatToBits(a.v[i]) & 0x7fffffffu) | (FloatToBits(b.v[i]) & 0x80000000u));
  });
}

// a < b ? x : y, so y where either is NaN.
inline F8 SelectLess(F8 a, F8 b, F8 x, F8 y) {
  return EachLane([&](int i) { return a.v[i] < b.v[i] ? x.v[i] : y.v[i]; });
}

// p * 2^n, where n is the integer held in the low bits of `shifted` = n + kRoundShift: in two
// multiplications, so that results down to the subnormals are rounded once.
inline F8 ScaleByPow2(F8 p, F8 shifted) {
  return EachLane([&](int i) {
    const uint32_t n = FloatToBits(shifted.v[i]) - FloatToBits(kRoundShift);
    const uint32_t half = (n >> 1) | (n & 0x80000000u);  // Arithmetic shift.
    const float first = BitsToFloat((half + 127u) << 23);
    const float second = BitsToFloat((n - half + 127u) << 23);
    return (p.v[i] * first) * second;
  });
}

inline float SquareRoot(float a) { return __builtin_sqrtf(a); }

// ((0+4) + (2+6)) + ((1+5) + (3+7))
inline float ReduceAdd(F8 a) {
  return ((a.v[0] + a.v[4]) + (a.v[2] + a.v[6])) + ((a.v[1] + a.v[5]) + (a.v[3] + a.v[7]));
}

inline F8 WidenBf16(const uint16_t* p) {
  return EachLane([=](int i) { return BitsToFloat(static_cast<uint32_t>(p[i]) << 16); });
}

// Eight E8M0 scales as floats: 2^(s - 127), a subnormal for 0, NaN for 255.
inline F8 WidenScales(const uint8_t* s) {
  return EachLane([=](int i) {
    if (s[i] == 0) return BitsToFloat(0x00400000u);
    if (s[i] == 255) return BitsToFloat(0xffffffffu);
    return BitsToFloat(static_cast<uint32_t>(s[i]) << 23);
  });
}

// scales[0] in lanes 0..3 and scales[1] in lanes 4..7.
inline F8 SpreadScales(const float* scales) {
  return EachLane([=](int i) { return scales[i / 4]; });
}

// Sixteen bytes of one MXFP4 group in each half: the codes of two groups, 64 weights.
struct CodeBlock {
  uint8_t bytes[32];
};

inline CodeBlock LoadCodes(const uint8_t* p) {
  CodeBlock block;
  __builtin_memcpy(block.bytes, p, sizeof block.bytes);
  return block;
}

// Sixteen weights as pairs of neighbouring bytes' codes: the even bytes' weights and the odd ones'.
struct WeightPairs {
  F8 even;
  F8 odd;
};

inline F8 EvenWeights(const WeightPairs& pairs) { return pairs.even; }
inline F8 OddWeights(const WeightPairs& pairs) { return pairs.odd; }

// The weights of one nibble position (0 low, 1 high) without their scale: pairs[h] holds bytes
// 8h .. 8h+7 of each group, lane i byte 8h + 2*(i%4) (even) or the next (odd) of group i/4.
inline void DecodeCodes(const CodeBlock& block, int nibble, WeightPairs pairs[2]) {
  constexpr float kMagnitude[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const auto weight = [&](int byte) {
    const unsigned codes = block.bytes[byte];
    const unsigned code = nibble == 0 ? codes & 15u : codes >> 4;
    return (code & 8u) != 0 ? -kMagnitude[code & 7u] : kMagnitude[code & 7u];
  };
  for (int h = 0; h < 2; ++h) {
    const auto byte = [=](int i) { return 16 * (i / 4) + 8 * h + 2 * (i % 4); };
    pairs[h].even = EachLane([&](int i) { return weight(byte(i)); });
    pairs[h].odd = EachLane([&](int i) { return weight(byte(i) + 1); });
  }
}

// Asks for the cache line `ahead` bytes behind p, into the second cache: requests into the first
// one would keep its few miss registers from the loads. Only speed depends on it.
inline void Prefetch(const void*, size_t) {}
