// What every kernel body uses on top of the lane operations. Included inside an unnamed namespace.

inline F8 Zero() { return Set1(0.0f); }

// Reads a float that may start at any even address.
inline float At(const float* p, size_t i) {
  float value;
  __builtin_memcpy(&value, reinterpret_cast<const char*>(p) + i * sizeof value, sizeof value);
  return value;
}

// The first n < 8 values, zero beyond: the tail of a row is one more step of the same loop over
// values padded with zeros, on every instruction set.
inline F8 LoadPart(const float* p, size_t n) {
  float padded[8] = {};
  for (size_t i = 0; i < n; ++i) padded[i] = At(p, i);
  return Load(padded);
}

inline void StorePart(float* p, F8 a, size_t n) {
  float values[8];
  Store(values, a);
  for (size_t i = 0; i < n; ++i) p[i] = values[i];
}

inline F8 WidenBf16Part(const uint16_t* p, size_t n) {
  uint16_t padded[8] = {};
  for (size_t i = 0; i < n; ++i) padded[i] = p[i];
  return WidenBf16(padded);
}

// Calls f(i, count) for steps of eight; count is 8 but in the last one.
template <class F>
inline void EachStep(size_t n, F f) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) f(i, size_t{8});
  if (i < n) f(i, n - i);
}

inline F8 LoadStep(const float* p, size_t count) {
  return count == 8 ? Load(p) : LoadPart(p, count);
}

inline void StoreStep(float* p, F8 a, size_t count) {
  if (count == 8) {
    Store(p, a);
  } else {
    StorePart(p, a, count);
  }
}

// 1 / sqrt(a), and NaN where a is not finite: squares that overflow must not turn a vector into
// zeros that look sound.
inline float InverseRoot(float a) { return 1.0f / SquareRoot(a) + (a - a); }
