#include "ops/codec/element.h"

#include <cstring>

#include "tests/ops/draw.h"

namespace penstock::ops {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr Element kSplit[] = {Element::kBf16, Element::kF16, Element::kF8E4M3, Element::kF8E5M2,
                              Element::kF32};

uint32_t Load(const uint8_t* raw, unsigned width) {
  uint32_t value = 0;
  for (unsigned i = 0; i < width; ++i) value |= static_cast<uint32_t>(raw[i]) << 8 * i;
  return value;
}

// The layout as element.h words it, bit by bit.
struct Planes {
  Bytes exponents;
  Bytes rest;
};
Planes SplitSlowly(Element element, const Bytes& raw) {
  const unsigned width = static_cast<unsigned>(ElementBytes(element));
  const unsigned exponent_bits = ExponentBits(element);
  const unsigned rest_bits = RestBits(element);
  const unsigned mantissa = rest_bits - 1;
  const size_t n = raw.size() / width;
  Planes planes{Bytes(n), Bytes(RestBytes(element, n))};
  for (size_t i = 0; i < n; ++i) {
    const uint32_t value = Load(raw.data() + i * width, width);
    planes.exponents[i] = static_cast<uint8_t>(value >> mantissa & ((1u << exponent_bits) - 1));
    const uint32_t sign = value >> (8 * width - 1);
    const uint32_t rest = sign << mantissa | (value & ((1u << mantissa) - 1));
    for (unsigned bit = 0; bit < rest_bits; ++bit) {
      const uint32_t set = rest >> bit & 1;
      const size_t plane = bit / 8;
      if (plane < rest_bits / 8) {
        planes.rest[plane * n + i] |= static_cast<uint8_t>(set << bit % 8);
      } else {
        const size_t begin = rest_bits / 8 * n + bit % 8 * ((n + 7) / 8);
        planes.rest[begin + i / 8] |= static_cast<uint8_t>(set << i % 8);
      }
    }
  }
  return planes;
}

void Check(Element element, const Bytes& raw) {
  const size_t n = raw.size() / ElementBytes(element);
  const Planes want = SplitSlowly(element, raw);
  // One guard byte behind each output.
  Bytes exponents(n + 1, 0x5c);
  Bytes rest(RestBytes(element, n) + 1, 0x5c);
  Split(element, raw.data(), n, exponents.data(), rest.data());
  EXPECT_EQ(exponents.back(), 0x5c);
  EXPECT_EQ(rest.back(), 0x5c);
  exponents.pop_back();
  rest.pop_back();
  EXPECT_EQ(exponents, want.exponents);
  EXPECT_EQ(rest, want.rest);
  Bytes merged(raw.size() + 1, 0x5c);
  Merge(element, exponents.data(), rest.data(), n, merged.data());
  EXPECT_EQ(merged.back(), 0x5c);
  merged.pop_back();
  EXPECT_EQ(merged, raw);
}

TEST(Element, Widths) {
  EXPECT_EQ(ElementBytes(Element::kBytes), 1u);
  EXPECT_EQ(RestBits(Element::kBytes), 0u);
  EXPECT_EQ(ExponentBits(Element::kBytes), 0u);
  EXPECT_EQ(RestBytes(Element::kBytes, 10), 0u);
  for (const Element element : kSplit) {
    EXPECT_EQ(ExponentBits(element) + RestBits(element), 8 * ElementBytes(element));
  }
  EXPECT_EQ(ExponentBits(Element::kF16), 5u);
  EXPECT_EQ(ExponentBits(Element::kF8E4M3), 4u);
  EXPECT_EQ(ExponentBits(Element::kF8E5M2), 5u);
  EXPECT_EQ(RestBytes(Element::kBf16, 9), 9u);
  EXPECT_EQ(RestBytes(Element::kF16, 9), 9u + 3 * 2);
  EXPECT_EQ(RestBytes(Element::kF8E4M3, 9), 4u * 2);
  EXPECT_EQ(RestBytes(Element::kF8E5M2, 9), 3u * 2);
  EXPECT_EQ(RestBytes(Element::kF32, 9), 3u * 9);
}

TEST(Element, EveryPatternOf16Bits) {
  Bytes raw;
  for (uint32_t value = 0; value < 65536; ++value) {
    raw.push_back(static_cast<uint8_t>(value));
    raw.push_back(static_cast<uint8_t>(value >> 8));
  }
  Check(Element::kBf16, raw);
  Check(Element::kF16, raw);
}

TEST(Element, EveryPatternOf8Bits) {
  Bytes raw;
  for (uint32_t value = 0; value < 256; ++value) raw.push_back(static_cast<uint8_t>(value));
  Check(Element::kF8E4M3, raw);
  Check(Element::kF8E5M2, raw);
}

TEST(Element, EveryLengthAtAnyAddress) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (const Element element : kSplit) {
    for (size_t n = 0; n < 150; ++n) Check(element, draw.Bytes(n * ElementBytes(element)));
    const size_t n = 1000;
    const Bytes raw = draw.Bytes(n * ElementBytes(element));
    Bytes shifted(raw.size() + 1);
    std::copy(raw.begin(), raw.end(), shifted.begin() + 1);
    Bytes exponents(n);
    Bytes rest(RestBytes(element, n));
    Split(element, shifted.data() + 1, n, exponents.data(), rest.data());
    Bytes merged(raw.size() + 1);
    Merge(element, exponents.data(), rest.data(), n, merged.data() + 1);
    EXPECT_EQ(Bytes(merged.begin() + 1, merged.end()), raw);
  }
}

// What an exponent is too large for says nothing, but it stays inside and in its element.
TEST(Element, ExponentsAboveTheField) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  for (const Element element : kSplit) {
    const size_t n = 77;
    const Bytes exponents = draw.Bytes(n);
    const Bytes rest = draw.Bytes(RestBytes(element, n));
    Bytes raw(n * ElementBytes(element) + 1, 0x5c);
    Merge(element, exponents.data(), rest.data(), n, raw.data());
    EXPECT_EQ(raw.back(), 0x5c);
  }
}

}  // namespace
}  // namespace penstock::ops
