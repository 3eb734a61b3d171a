// A code and a coded plane of it, as a stripe and its chunk are read. A code that is accepted is
// the only form of itself, and every kernel answers as the plain decoder does, symbol by symbol,
// with no write outside of the output; the input lies so that a read behind its slack is seen.
// covers: ops/codec/huffman/
//
// The first byte chooses the limit, the second is the length of the code, which follows; then two
// bytes of the number of symbols, and the plane.

#include <cstring>
#include <vector>

#include "ops/codec/huffman/huffman.h"
#include "runtime/check.h"

namespace penstock::ops::huffman {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint8_t kGuard = 0x5c;
constexpr size_t kGuards = 64;
constexpr size_t kSlack = 64;

bool GuardsHold(const uint8_t* begin, size_t bytes) {
  for (size_t i = 0; i < kGuards; ++i) {
    if (begin[-1 - static_cast<ptrdiff_t>(i)] != kGuard || begin[bytes + i] != kGuard) return false;
  }
  return true;
}

void CheckKernel(const Kernels& kernels, const Code& code, const Bytes& coded, size_t coded_bytes,
                 const Bytes& rest, size_t n, const Bytes* want) {
  Tables tables;
  tables.Build(code);
  Bytes symbols(n + 2 * kGuards, kGuard);
  const bool good =
      kernels.symbols(tables.contents(), coded.data(), coded_bytes, n, symbols.data() + kGuards);
  PENSTOCK_CHECK(good == (want != nullptr));
  PENSTOCK_CHECK(GuardsHold(symbols.data() + kGuards, n));
  for (const bool streaming : {false, true}) {
    Bytes elements(2 * n + 2 * kGuards, kGuard);
    auto* const out = reinterpret_cast<uint16_t*>(elements.data() + kGuards);
    PENSTOCK_CHECK(good == kernels.bf16(tables.contents(), coded.data(), coded_bytes, rest.data(),
                                        n, out, streaming));
    PENSTOCK_CHECK(GuardsHold(elements.data() + kGuards, 2 * n));
    for (size_t i = 0; good && i < n; ++i) {
      PENSTOCK_CHECK(symbols[kGuards + i] == (*want)[i]);
      PENSTOCK_CHECK(out[i] == ((rest[i] & 0x80) << 8 | (*want)[i] << 7 | (rest[i] & 0x7f)));
    }
  }
}

void CheckEncoder(const Code& code, const Bytes& symbols) {
  Bytes again(MostBytes(symbols.size()));
  again.resize(Encode(code, symbols.data(), symbols.size(), again.data()));
  Bytes decoded(symbols.size());
  PENSTOCK_CHECK(DecodePlainly(code, again.data(), again.size(), symbols.size(), decoded.data()));
  PENSTOCK_CHECK(decoded == symbols);
}

void Check(const uint8_t* data, size_t size) {
  if (size < 4) return;
  const unsigned limit = data[0] % 2 == 0 ? kLimit : kLongLimit;
  const size_t code_bytes = data[1];
  const size_t n = (data[2] | data[3] << 8) % 4096;
  if (size - 4 < code_bytes) return;
  Code code;
  const Bytes code_copy(data + 4, data + 4 + code_bytes);
  if (!ReadCode(code_copy.data(), code_bytes, limit, code)) return;
  Bytes written(kMostCodeBytes);
  written.resize(WriteCode(code, written.data()));
  PENSTOCK_CHECK(written == code_copy);

  const Bytes exact(data + 4 + code_bytes, data + size);
  Bytes padded = exact;
  padded.resize(exact.size() + kSlack, 0xa5);
  Bytes rest(n + kSlack);
  for (size_t i = 0; i < n; ++i) rest[i] = static_cast<uint8_t>(i * 37);
  Bytes want(n);
  const bool good = DecodePlainly(code, exact.data(), exact.size(), n, want.data());
  for (const Kernels* kernels : {&Scalar(), Avx2(), Avx512()}) {
    if (kernels == nullptr) continue;
    CheckKernel(*kernels, code, padded, exact.size(), rest, n, good ? &want : nullptr);
  }
  if (!good) return;
  for (const uint8_t symbol : want) {  // A raw plane may hold symbols that have no code.
    if (code.lengths[symbol] == 0) return;
  }
  CheckEncoder(code, want);
}

}  // namespace
}  // namespace penstock::ops::huffman

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  penstock::ops::huffman::Check(data, size);
  return 0;
}
