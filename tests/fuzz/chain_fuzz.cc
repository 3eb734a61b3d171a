// Two bytes of length, then a coded plane: every decoder of this machine accepts or refuses it as
// scalar does, and gives the same. Then the input as symbols, which must come back.
// covers: ops/codec/chain

#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/codec/chain/chain.h"
#include "ops/codec/codec.h"
#include "runtime/check.h"

namespace {

using penstock::ops::kCodecSlack;
using penstock::ops::chain::Kernels;

struct Decoded {
  bool good;
  std::vector<uint8_t> symbols;
  std::vector<uint16_t> elements;
};

Decoded Decode(const Kernels& kernels, const std::vector<uint8_t>& stored, size_t coded_bytes,
               const std::vector<uint8_t>& rest, size_t n) {
  Decoded decoded = {false, std::vector<uint8_t>(n), std::vector<uint16_t>(n)};
  decoded.good = kernels.symbols(stored.data(), coded_bytes, n, decoded.symbols.data());
  for (const bool streaming : {false, true}) {
    const bool good = kernels.bf16(stored.data(), coded_bytes, rest.data(), n,
                                   decoded.elements.data(), streaming);
    PENSTOCK_CHECK(good == decoded.good);
  }
  return decoded;
}

// The buffers are exactly as long as allowed, so that AddressSanitizer sees the next byte.
void CompareAll(const uint8_t* coded, size_t coded_bytes, size_t n) {
  std::vector<uint8_t> stored(coded_bytes + kCodecSlack);
  if (coded_bytes != 0) std::memcpy(stored.data(), coded, coded_bytes);
  std::vector<uint8_t> rest(n + kCodecSlack);
  for (size_t i = 0; i < n; ++i) rest[i] = static_cast<uint8_t>(i * 37);
  const Decoded expected = Decode(penstock::ops::chain::Scalar(), stored, coded_bytes, rest, n);
  for (size_t i = 0; expected.good && i < n; ++i) {
    const unsigned element = (rest[i] & 128u) << 8 | expected.symbols[i] << 7 | (rest[i] & 127u);
    PENSTOCK_CHECK(expected.elements[i] == element);
  }
  for (const Kernels* kernels : {penstock::ops::chain::Avx2(), penstock::ops::chain::Avx512()}) {
    if (kernels == nullptr) continue;
    const Decoded decoded = Decode(*kernels, stored, coded_bytes, rest, n);
    PENSTOCK_CHECK(decoded.good == expected.good);
    if (!expected.good) continue;
    PENSTOCK_CHECK(decoded.symbols == expected.symbols);
    PENSTOCK_CHECK(decoded.elements == expected.elements);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  CompareAll(data + 2, size - 2, data[0] | static_cast<size_t>(data[1]) << 8);

  std::vector<uint8_t> coded(penstock::ops::chain::MostBytes(size));
  coded.resize(penstock::ops::chain::Encode(data, size, coded.data()));
  PENSTOCK_CHECK(coded.size() <= penstock::ops::chain::MostBytes(size));
  const size_t coded_bytes = coded.size();
  coded.resize(coded_bytes + kCodecSlack);
  std::vector<uint8_t> symbols(size);
  PENSTOCK_CHECK(
      penstock::ops::chain::Scalar().symbols(coded.data(), coded_bytes, size, symbols.data()));
  PENSTOCK_CHECK(std::memcmp(symbols.data(), data, size) == 0);
  CompareAll(coded.data(), coded_bytes, size);
  return 0;
}
