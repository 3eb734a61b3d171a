#include "models/k3/bench/codec/coders.h"

#include <cstring>
#include <vector>

#include <zstd.h>

#include "runtime/check.h"

namespace penstock::k3 {
namespace {

using ops::Element;

const uint8_t* Bytes(std::span<const std::byte> span) {
  return reinterpret_cast<const uint8_t*>(span.data());
}
uint8_t* Bytes(std::span<std::byte> span) { return reinterpret_cast<uint8_t*>(span.data()); }

class KernelCoder final : public Coder {
 public:
  explicit KernelCoder(ops::Codec codec) : encoder_(codec, Element::kBf16) {}
  void Begin(std::span<const std::byte> stripe) override { encoder_.Begin(stripe); }
  std::span<const std::byte> code() const override { return encoder_.code(); }
  size_t MostBytes(size_t elements) const override { return encoder_.MostBytes(elements); }
  size_t Encode(std::span<const std::byte> raw, std::span<std::byte> out) override {
    return encoder_.Encode(raw, out);
  }

 private:
  ops::ChunkEncoder encoder_;
};

constexpr int kZstdLevel = 1;

class ZstdCoder final : public Coder {
 public:
  ZstdCoder() : context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {}
  void Begin(std::span<const std::byte> stripe) override {}
  std::span<const std::byte> code() const override { return {}; }
  size_t MostBytes(size_t elements) const override {
    return ops::RestBytes(Element::kBf16, elements) + ZSTD_compressBound(elements);
  }
  size_t Encode(std::span<const std::byte> raw, std::span<std::byte> out) override {
    const size_t n = raw.size() / 2;
    const size_t rest = ops::RestBytes(Element::kBf16, n);
    exponents_.resize(n);
    ops::Split(Element::kBf16, Bytes(raw), n, exponents_.data(), Bytes(out));
    const size_t coded = ZSTD_compressCCtx(context_.get(), out.data() + rest, out.size() - rest,
                                           exponents_.data(), n, kZstdLevel);
    PENSTOCK_CHECK(!ZSTD_isError(coded));  // It had the room it asked for.
    return rest + coded;
  }

 private:
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
  std::vector<uint8_t> exponents_;
};

class Copy final : public Decoder {
 public:
  bool Begin(std::span<const std::byte> code) override { return true; }
  bool Decode(std::span<const std::byte> stored, std::span<std::byte> raw) override {
    if (stored.size() != raw.size()) return false;
    std::memcpy(raw.data(), stored.data(), raw.size());
    return true;
  }
};

class ByKernels final : public Decoder {
 public:
  ByKernels(ops::Codec codec, ops::CodecKernels kernels, ops::Store store)
      : decoder_(kernels), codec_(codec), store_(store) {}
  bool Begin(std::span<const std::byte> code) override {
    return decoder_.Begin(codec_, Element::kBf16, code);
  }
  bool Decode(std::span<const std::byte> stored, std::span<std::byte> raw) override {
    return decoder_.Decode(stored, raw, store_);
  }

 private:
  ops::ChunkDecoder decoder_;
  const ops::Codec codec_;
  const ops::Store store_;
};

// Decoders of the exponents alone, which are merged with their rest afterwards.
class ByPlane : public Decoder {
 public:
  bool Decode(std::span<const std::byte> stored, std::span<std::byte> raw) final {
    const size_t n = raw.size() / 2;
    const size_t rest = ops::RestBytes(Element::kBf16, n);
    if (stored.size() < rest) return false;
    exponents_.resize(n);
    if (!Exponents(stored.subspan(rest), exponents_)) return false;
    ops::Merge(Element::kBf16, exponents_.data(), Bytes(stored), n, Bytes(raw));
    return true;
  }

 private:
  virtual bool Exponents(std::span<const std::byte> coded, std::span<uint8_t> exponents) = 0;
  std::vector<uint8_t> exponents_;
};

class Plainly final : public ByPlane {
 public:
  bool Begin(std::span<const std::byte> code) override {
    return ops::huffman::ReadCode(Bytes(code), code.size(), ops::huffman::kLimit, code_);
  }

 private:
  bool Exponents(std::span<const std::byte> coded, std::span<uint8_t> exponents) override {
    return ops::huffman::DecodePlainly(code_, Bytes(coded), coded.size(), exponents.size(),
                                       exponents.data());
  }
  ops::huffman::Code code_;
};

class ByZstd final : public ByPlane {
 public:
  ByZstd() : context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {}
  bool Begin(std::span<const std::byte> code) override { return true; }

 private:
  bool Exponents(std::span<const std::byte> coded, std::span<uint8_t> exponents) override {
    return ZSTD_decompressDCtx(context_.get(), exponents.data(), exponents.size(), coded.data(),
                               coded.size()) == exponents.size();
  }
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
};

}  // namespace

std::unique_ptr<Coder> MakeCoder(ops::Codec codec) { return std::make_unique<KernelCoder>(codec); }
std::unique_ptr<Coder> MakeZstdCoder() { return std::make_unique<ZstdCoder>(); }

MakeDecoder Copies() {
  return [] { return std::make_unique<Copy>(); };
}
MakeDecoder KernelDecoder(ops::Codec codec, ops::CodecKernels kernels, ops::Store store) {
  return [=] { return std::make_unique<ByKernels>(codec, kernels, store); };
}
MakeDecoder PlainHuffman() {
  return [] { return std::make_unique<Plainly>(); };
}
MakeDecoder ZstdDecoder() {
  return [] { return std::make_unique<ByZstd>(); };
}

}  // namespace penstock::k3
