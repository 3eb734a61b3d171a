#include "ops/codec/element.h"

#include <cstring>
#include <type_traits>

#include "runtime/check.h"

namespace penstock::ops {
namespace {

// Where the fields of an element lie: mantissa, exponent and sign from the least significant bit.
struct Fields {
  unsigned bytes;
  unsigned mantissa_bits;
  unsigned exponent_bits;
};

constexpr Fields FieldsOf(Element element) {
  switch (element) {
    case Element::kBytes:
      return {1, 8, 0};
    case Element::kBf16:
      return {2, 7, 8};
    case Element::kF16:
      return {2, 10, 5};
    case Element::kF8E4M3:
      return {1, 3, 4};
    case Element::kF8E5M2:
      return {1, 2, 5};
    case Element::kF32:
      return {4, 23, 8};
  }
  return {1, 8, 0};
}

template <unsigned kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = uint8_t;
};
template <>
struct WordOf<2> {
  using Type = uint16_t;
};
template <>
struct WordOf<4> {
  using Type = uint32_t;
};

// The bits of a group of eight elements' rest that fill no byte, one byte of each plane at a time,
// are transposed as an 8 x 8 matrix: byte i of `matrix` is element i, bit j of it goes to bit i of
// byte j. Its own inverse. After H. S. Warren, "Hacker's Delight", 2nd edition, section 7-3.
uint64_t Transpose(uint64_t matrix) {
  uint64_t swapped = (matrix ^ matrix >> 7) & 0x00aa00aa00aa00aaULL;
  matrix ^= swapped ^ swapped << 7;
  swapped = (matrix ^ matrix >> 14) & 0x0000cccc0000ccccULL;
  matrix ^= swapped ^ swapped << 14;
  swapped = (matrix ^ matrix >> 28) & 0x00000000f0f0f0f0ULL;
  return matrix ^ swapped ^ swapped << 28;
}

template <Element kElement>
struct Layout {
  static constexpr Fields kFields = FieldsOf(kElement);
  static constexpr unsigned kMantissa = kFields.mantissa_bits;
  static constexpr unsigned kExponent = kFields.exponent_bits;
  static constexpr unsigned kRest = kMantissa + 1;
  static constexpr unsigned kPlanes = kRest / 8;  // Of bytes.
  static constexpr unsigned kBits = kRest % 8;    // Planes of bits.
  using Word = typename WordOf<kFields.bytes>::Type;

  static Word Load(const uint8_t* raw, size_t i) {
    Word word;
    std::memcpy(&word, raw + i * sizeof(Word), sizeof(Word));
    return word;
  }
  static void Store(uint8_t* raw, size_t i, uint32_t value) {
    const auto word = static_cast<Word>(value);
    std::memcpy(raw + i * sizeof(Word), &word, sizeof(Word));
  }
  static uint8_t ExponentOf(uint32_t word) {
    return static_cast<uint8_t>(word >> kMantissa & ((1u << kExponent) - 1));
  }
  static uint32_t RestOf(uint32_t word) {
    return word >> (kMantissa + kExponent) << kMantissa | (word & ((1u << kMantissa) - 1));
  }
  // Bits of an exponent above the field are left out.
  static uint32_t Join(uint32_t exponent, uint32_t rest) {
    return (rest >> kMantissa & 1u) << (kMantissa + kExponent) |
           (exponent & ((1u << kExponent) - 1)) << kMantissa | (rest & ((1u << kMantissa) - 1));
  }
};

// The bits of `count` <= 8 elements that fill no byte, as byte i of the answer.
template <Element kElement>
uint64_t OddBits(const uint8_t* raw, size_t first, size_t count) {
  using L = Layout<kElement>;
  uint8_t odd[8] = {};
  for (size_t i = 0; i < count; ++i) {
    odd[i] = static_cast<uint8_t>(L::RestOf(L::Load(raw, first + i)) >> 8 * L::kPlanes);
  }
  uint64_t matrix;
  std::memcpy(&matrix, odd, sizeof(matrix));
  return matrix;
}

template <Element kElement>
void SplitElements(const uint8_t* raw, size_t n, uint8_t* __restrict exponents,
                   uint8_t* __restrict rest) {
  using L = Layout<kElement>;
  // Through arrays of a constant size, so that the compiler makes vectors of them.
  constexpr size_t kGroup = 16;
  const auto split = [&](size_t at, size_t count) __attribute__((always_inline)) {
    typename L::Word words[kGroup] = {};
    uint8_t bytes[kGroup];
    std::memcpy(words, raw + at * sizeof words[0], count * sizeof words[0]);
    for (size_t i = 0; i < kGroup; ++i) bytes[i] = L::ExponentOf(words[i]);
    std::memcpy(exponents + at, bytes, count);
    for (unsigned plane = 0; plane < L::kPlanes; ++plane) {
      for (size_t i = 0; i < kGroup; ++i) {
        bytes[i] = static_cast<uint8_t>(L::RestOf(words[i]) >> 8 * plane);
      }
      std::memcpy(rest + plane * n + at, bytes, count);
    }
  };
  const size_t grouped = n / kGroup * kGroup;
  for (size_t i = 0; i < grouped; i += kGroup) split(i, kGroup);
  if (grouped < n) split(grouped, n - grouped);
  if constexpr (L::kBits > 0) {
    uint8_t* const bits = rest + L::kPlanes * n;
    const size_t stride = (n + 7) / 8;
    for (size_t group = 0; group < stride; ++group) {
      const size_t first = group * 8;
      const size_t count = n - first < 8 ? n - first : 8;
      const uint64_t planes = Transpose(OddBits<kElement>(raw, first, count));
      for (unsigned j = 0; j < L::kBits; ++j) {
        bits[j * stride + group] = static_cast<uint8_t>(planes >> 8 * j);
      }
    }
  }
}

// The bits of group `group`'s elements that fill no byte, back from their planes.
template <Element kElement>
uint64_t OddBitsOf(const uint8_t* bits, size_t stride, size_t group) {
  uint64_t planes = 0;
  for (unsigned j = 0; j < Layout<kElement>::kBits; ++j) {
    planes |= static_cast<uint64_t>(bits[j * stride + group]) << 8 * j;
  }
  return Transpose(planes);
}

template <Element kElement>
void MergeElements(const uint8_t* exponents, const uint8_t* rest, size_t n,
                   uint8_t* __restrict raw) {
  using L = Layout<kElement>;
  constexpr size_t kGroup = L::kBits > 0 ? 8 : 16;
  const uint8_t* const bits = rest + L::kPlanes * n;
  const size_t stride = (n + 7) / 8;
  const auto merge = [&](size_t first, size_t count) __attribute__((always_inline)) {
    uint8_t odd[kGroup] = {};
    if constexpr (L::kBits > 0) {
      const uint64_t matrix = OddBitsOf<kElement>(bits, stride, first / 8);
      std::memcpy(odd, &matrix, sizeof(matrix));
    }
    for (size_t i = 0; i < count; ++i) {
      uint32_t value = static_cast<uint32_t>(odd[i]) << 8 * L::kPlanes;
      for (unsigned plane = 0; plane < L::kPlanes; ++plane) {
        value |= static_cast<uint32_t>(rest[plane * n + first + i]) << 8 * plane;
      }
      L::Store(raw, first + i, L::Join(exponents[first + i], value));
    }
  };
  size_t first = 0;
  for (; first + kGroup <= n; first += kGroup) merge(first, kGroup);
  if (first < n) merge(first, n - first);
}

// Elements of a byte, eight in a word.
template <Element kElement>
struct ByteWords {
  using L = Layout<kElement>;
  static constexpr uint64_t kEach = 0x0101010101010101ULL;
  static constexpr uint64_t kMantissas = ((1u << L::kMantissa) - 1) * kEach;
  static constexpr uint64_t kExponents = ((1u << L::kExponent) - 1) * kEach;
  static constexpr uint64_t kSigns = (1u << L::kMantissa) * kEach;  // In the rest.

  static uint64_t ExponentsOf(uint64_t word) { return word >> L::kMantissa & kExponents; }
  static uint64_t RestsOf(uint64_t word) {
    return (word & kMantissas) | (word >> L::kExponent & kSigns);
  }
  static uint64_t Join(uint64_t exponents, uint64_t rests) {
    return (rests & kMantissas) | (exponents & kExponents) << L::kMantissa |
           (rests & kSigns) << L::kExponent;
  }
};

template <Element kElement>
void SplitByteElements(const uint8_t* raw, size_t n, uint8_t* exponents, uint8_t* rest) {
  using W = ByteWords<kElement>;
  const size_t stride = (n + 7) / 8;
  const auto split = [&](size_t group, size_t count) __attribute__((always_inline)) {
    uint64_t word = 0;
    std::memcpy(&word, raw + group * 8, count);
    const uint64_t fields = W::ExponentsOf(word);
    std::memcpy(exponents + group * 8, &fields, count);
    const uint64_t planes = Transpose(W::RestsOf(word));
    for (unsigned j = 0; j < W::L::kBits; ++j) {
      rest[j * stride + group] = static_cast<uint8_t>(planes >> 8 * j);
    }
  };
  for (size_t group = 0; group < n / 8; ++group) split(group, 8);
  if (n % 8 != 0) split(n / 8, n % 8);
}

template <Element kElement>
void MergeByteElements(const uint8_t* exponents, const uint8_t* rest, size_t n, uint8_t* raw) {
  using W = ByteWords<kElement>;
  const size_t stride = (n + 7) / 8;
  const auto merge = [&](size_t group, size_t count) __attribute__((always_inline)) {
    uint64_t fields = 0;
    std::memcpy(&fields, exponents + group * 8, count);
    const uint64_t word = W::Join(fields, OddBitsOf<kElement>(rest, stride, group));
    std::memcpy(raw + group * 8, &word, count);
  };
  for (size_t group = 0; group < n / 8; ++group) merge(group, 8);
  if (n % 8 != 0) merge(n / 8, n % 8);
}

// Calls `run` with the element as a constant.
template <class Run>
void ForElement(Element element, Run run) {
  switch (element) {
    case Element::kBf16:
      return run(std::integral_constant<Element, Element::kBf16>());
    case Element::kF16:
      return run(std::integral_constant<Element, Element::kF16>());
    case Element::kF8E4M3:
      return run(std::integral_constant<Element, Element::kF8E4M3>());
    case Element::kF8E5M2:
      return run(std::integral_constant<Element, Element::kF8E5M2>());
    case Element::kF32:
      return run(std::integral_constant<Element, Element::kF32>());
    case Element::kBytes:
      break;
  }
  PENSTOCK_CHECK(false && "bytes are not split");
}

}  // namespace

size_t ElementBytes(Element element) { return FieldsOf(element).bytes; }

unsigned ExponentBits(Element element) { return FieldsOf(element).exponent_bits; }

unsigned RestBits(Element element) {
  return element == Element::kBytes ? 0 : FieldsOf(element).mantissa_bits + 1;
}

size_t RestBytes(Element element, size_t n) {
  const unsigned bits = RestBits(element);
  return bits / 8 * n + bits % 8 * (n / 8 + (n % 8 != 0));
}

void Split(Element element, const uint8_t* raw, size_t n, uint8_t* exponents, uint8_t* rest) {
  ForElement(element, [&](auto constant) {
    constexpr Element kElement = decltype(constant)::value;
    if constexpr (FieldsOf(kElement).bytes == 1) {
      SplitByteElements<kElement>(raw, n, exponents, rest);
    } else {
      SplitElements<kElement>(raw, n, exponents, rest);
    }
  });
}

void Merge(Element element, const uint8_t* exponents, const uint8_t* rest, size_t n, uint8_t* raw) {
  ForElement(element, [&](auto constant) {
    constexpr Element kElement = decltype(constant)::value;
    if constexpr (FieldsOf(kElement).bytes == 1) {
      MergeByteElements<kElement>(exponents, rest, n, raw);
    } else {
      MergeElements<kElement>(exponents, rest, n, raw);
    }
  });
}

}  // namespace penstock::ops
