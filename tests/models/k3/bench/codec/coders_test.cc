#include "models/k3/bench/codec/coders.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/bench/codec/generated.h"

namespace penstock::k3 {
namespace {

using ops::Codec;
using ops::Store;

struct Stored {
  std::vector<std::byte> code, bytes;  // The bytes with slack behind them.
  size_t size = 0;
  std::span<const std::byte> span() const { return std::span(bytes).first(size); }
};

class Coders : public ::testing::Test {
 protected:
  Coders() {
    std::vector<uint16_t> values(20'001);
    GenerateRows(1, 0, values);
    weights_.resize(2 * values.size());
    std::memcpy(weights_.data(), values.data(), weights_.size());
  }

  Stored Encode(Coder& coder) const {
    Stored out;
    coder.Begin(weights_);
    out.code.assign(coder.code().begin(), coder.code().end());
    const size_t most = coder.MostBytes(weights_.size() / 2);
    out.bytes.resize(most + ops::kCodecSlack);
    out.size = coder.Encode(weights_, std::span(out.bytes).first(most));
    return out;
  }

  // Decodes it, and that a truncated one is noticed.
  void ExpectRoundTrip(const Stored& stored, const MakeDecoder& make) const {
    const auto decoder = make();
    ASSERT_TRUE(decoder->Begin(stored.code));
    std::vector<std::byte> raw(weights_.size());
    ASSERT_TRUE(decoder->Decode(stored.span(), raw));
    EXPECT_EQ(raw, weights_);
    EXPECT_FALSE(decoder->Decode(stored.span().first(stored.size - 1), raw));
    EXPECT_FALSE(decoder->Decode(stored.span().first(1), raw));
  }

  std::vector<std::byte> weights_;
};

TEST_F(Coders, RawIsCopied) {
  const Stored stored = Encode(*MakeCoder(Codec::kRaw));
  EXPECT_EQ(stored.size, weights_.size());
  ExpectRoundTrip(stored, Copies());
}

TEST_F(Coders, ZstdCodesTheExponentsAlone) {
  const Stored stored = Encode(*MakeZstdCoder());
  EXPECT_GT(stored.size, weights_.size() * 6 / 10);
  EXPECT_LT(stored.size, weights_.size() * 3 / 4);
  ExpectRoundTrip(stored, ZstdDecoder());
}

TEST_F(Coders, HuffmanIsDecodedByKernelsAndPlainly) {
  const Stored stored = Encode(*MakeCoder(Codec::kHuffman));
  EXPECT_FALSE(stored.code.empty());
  EXPECT_LT(stored.size, weights_.size() * 7 / 10);
  const ops::CodecKernels kernels{&ops::chain::Scalar(), &ops::huffman::Scalar()};
  ExpectRoundTrip(stored, KernelDecoder(Codec::kHuffman, kernels, Store::kStreaming));
  ExpectRoundTrip(stored, PlainHuffman());
  EXPECT_FALSE(PlainHuffman()()->Begin({}));
}

TEST_F(Coders, ChainIsDecodedByKernels) {
  const Stored stored = Encode(*MakeCoder(Codec::kChain));
  EXPECT_TRUE(stored.code.empty());
  EXPECT_LT(stored.size, weights_.size() * 7 / 10);
  const ops::CodecKernels kernels{&ops::chain::Scalar(), &ops::huffman::Scalar()};
  ExpectRoundTrip(stored, KernelDecoder(Codec::kChain, kernels, Store::kCached));
}

}  // namespace
}  // namespace penstock::k3
