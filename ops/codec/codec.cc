#include "ops/codec/codec.h"

#include <algorithm>
#include <cstring>

#include "ops/codec/choose.h"

namespace penstock::ops {
namespace {

const uint8_t* Bytes(std::span<const std::byte> span) {
  return reinterpret_cast<const uint8_t*>(span.data());
}
uint8_t* Bytes(std::span<std::byte> span) { return reinterpret_cast<uint8_t*>(span.data()); }

unsigned LimitOf(Element element) {
  return element == Element::kF8E4M3 || element == Element::kF8E5M2 ? huffman::kLongLimit
                                                                    : huffman::kLimit;
}

bool IsElement(Element element) { return element <= Element::kF32; }

// Symbols that are decoded before they are merged: they stay in the first cache.
constexpr size_t kMergeElements = 64 * 1024;

}  // namespace

struct ChunkEncoder::HuffmanState {
  huffman::Code code;
};

ChunkEncoder::ChunkEncoder(Codec codec, Element element)
    : codec_(element == Element::kBytes ? Codec::kRaw : codec), element_(element) {
  if (codec_ == Codec::kHuffman) huffman_ = std::make_unique<HuffmanState>();
}
ChunkEncoder::~ChunkEncoder() = default;

void ChunkEncoder::Begin(std::span<const std::byte> raw) {
  code_.clear();
  if (codec_ != Codec::kHuffman) return;
  constexpr size_t kPart = 64 * 1024;
  const size_t width = ElementBytes(element_);
  exponents_.resize(kPart);
  std::vector<uint8_t> rest(RestBytes(element_, kPart));
  uint64_t counts[256] = {};
  for (size_t at = 0; at < raw.size() / width; at += kPart) {
    const size_t n = std::min(kPart, raw.size() / width - at);
    Split(element_, Bytes(raw) + at * width, n, exponents_.data(), rest.data());
    for (size_t i = 0; i < n; ++i) ++counts[exponents_[i]];
  }
  huffman_->code = huffman::MakeCode(counts, LimitOf(element_));
  code_.resize(huffman::kMostCodeBytes);
  code_.resize(huffman::WriteCode(huffman_->code, Bytes(std::span(code_))));
}

size_t ChunkEncoder::MostBytes(size_t elements) const {
  if (codec_ == Codec::kRaw) return elements * ElementBytes(element_);
  return RestBytes(element_, elements) +
         (codec_ == Codec::kChain ? chain::MostBytes(elements) : huffman::MostBytes(elements));
}

size_t ChunkEncoder::Encode(std::span<const std::byte> raw, std::span<std::byte> out) {
  if (codec_ == Codec::kRaw) {
    if (!raw.empty()) std::memcpy(out.data(), raw.data(), raw.size());
    return raw.size();
  }
  const size_t n = raw.size() / ElementBytes(element_);
  const size_t rest = RestBytes(element_, n);
  exponents_.resize(n);
  Split(element_, Bytes(raw), n, exponents_.data(), Bytes(out));
  uint8_t* const coded = Bytes(out) + rest;
  if (codec_ == Codec::kChain) return rest + chain::Encode(exponents_.data(), n, coded);
  return rest + huffman::Encode(huffman_->code, exponents_.data(), n, coded);
}

struct ChunkDecoder::State {
  explicit State(const CodecKernels& chosen) : kernels(chosen) {}
  CodecKernels kernels;
  Codec codec = Codec::kRaw;
  Element element = Element::kBytes;
  huffman::Tables tables;
  std::vector<uint8_t> symbols;
};

ChunkDecoder::ChunkDecoder(const CodecKernels& kernels) : state_(std::make_unique<State>(kernels)) {
  state_->symbols.resize(kMergeElements);
}
ChunkDecoder::~ChunkDecoder() = default;
ChunkDecoder::ChunkDecoder(ChunkDecoder&& other) noexcept = default;

bool ChunkDecoder::Begin(Codec codec, Element element, std::span<const std::byte> code) {
  if (codec > Codec::kHuffman || !IsElement(element)) return false;
  if (codec != Codec::kRaw && element == Element::kBytes) return false;
  state_->codec = codec;
  state_->element = element;
  if (codec != Codec::kHuffman) return code.empty();
  huffman::Code lengths;
  if (!huffman::ReadCode(Bytes(code), code.size(), LimitOf(element), lengths)) return false;
  state_->tables.Build(lengths);
  return true;
}

bool ChunkDecoder::Decode(std::span<const std::byte> stored, std::span<std::byte> raw,
                          Store store) {
  State& s = *state_;
  const size_t width = ElementBytes(s.element);
  if (raw.size() % width != 0) return false;
  if (s.codec == Codec::kRaw) {
    if (stored.size() != raw.size()) return false;
    if (!raw.empty()) std::memcpy(raw.data(), stored.data(), raw.size());
    return true;
  }
  const size_t n = raw.size() / width;
  const size_t rest_bytes = RestBytes(s.element, n);
  if (stored.size() < rest_bytes) return false;
  const uint8_t* const rest = Bytes(stored);
  const uint8_t* const coded = rest + rest_bytes;
  const size_t coded_bytes = stored.size() - rest_bytes;
  const huffman::Tables::Contents& tables = s.tables.contents();
  const bool streaming = store == Store::kStreaming;
  if (s.element == Element::kBf16) {
    auto* const out = reinterpret_cast<uint16_t*>(raw.data());
    return s.codec == Codec::kChain
               ? s.kernels.chain->bf16(coded, coded_bytes, rest, n, out, streaming)
               : s.kernels.huffman->bf16(tables, coded, coded_bytes, rest, n, out, streaming);
  }
  if (n > s.symbols.size()) s.symbols.resize(n);
  const bool whole =
      s.codec == Codec::kChain
          ? s.kernels.chain->symbols(coded, coded_bytes, n, s.symbols.data())
          : s.kernels.huffman->symbols(tables, coded, coded_bytes, n, s.symbols.data());
  if (whole) Merge(s.element, s.symbols.data(), rest, n, Bytes(raw));
  return whole;
}

}  // namespace penstock::ops
