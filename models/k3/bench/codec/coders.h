#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "ops/codec/choose.h"
#include "ops/codec/codec.h"

namespace penstock::k3 {

// One form for everything that the benchmark encodes bf16 with; the meaning of the calls is that of
// ops::ChunkEncoder. One thread at a time.
class Coder {
 public:
  virtual ~Coder() = default;
  virtual void Begin(std::span<const std::byte> stripe) = 0;
  virtual std::span<const std::byte> code() const = 0;
  virtual size_t MostBytes(size_t elements) const = 0;
  virtual size_t Encode(std::span<const std::byte> raw, std::span<std::byte> out) = 0;
};

std::unique_ptr<Coder> MakeCoder(ops::Codec codec);
// Level 1 on the exponents of each chunk, behind their rest as the other codecs have it: what a
// general compressor gives on the same plane.
std::unique_ptr<Coder> MakeZstdCoder();

// And for what it decodes with, as ops::ChunkDecoder. One for each thread.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual bool Begin(std::span<const std::byte> code) = 0;
  virtual bool Decode(std::span<const std::byte> stored, std::span<std::byte> raw) = 0;
};
using MakeDecoder = std::function<std::unique_ptr<Decoder>()>;

// std::memcpy of what kRaw stored.
MakeDecoder Copies();
MakeDecoder KernelDecoder(ops::Codec codec, ops::CodecKernels kernels, ops::Store store);
// ops::huffman::DecodePlainly and a merge.
MakeDecoder PlainHuffman();
MakeDecoder ZstdDecoder();

}  // namespace penstock::k3
