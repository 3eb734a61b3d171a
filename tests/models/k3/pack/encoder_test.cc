#include "models/k3/pack/encoder.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/weights/packed/stripe_reader.h"
#include "ops/codec/choose.h"
#include "tests/runtime/serial_step.h"

namespace penstock::k3 {
namespace {

constexpr uint32_t kEncodedChunk = 4096;

// Encodes, checks that it decodes to the same, and answers the codec it was stored with.
uint8_t RoundTrip(StripeEncoder& encoder, ops::Element element, std::span<const std::byte> raw) {
  const io::EncodedStripe encoded = encoder.Encode(element, raw, kEncodedChunk);
  io::PackManifest manifest;
  manifest.tensors = {{"t", encoded.element, encoded.elements}};
  io::Stripe stripe;
  stripe.codec = encoded.codec;
  stripe.elements = encoded.elements;
  stripe.raw_bytes = raw.size();
  stripe.stored_bytes = encoded.stored.size();
  stripe.stored_sum = encoded.stored_sum;
  stripe.raw_sum = encoded.raw_sum;
  manifest.stripes = {stripe};
  std::vector<std::byte> back(raw.size());
  static const ops::CodecKernels kernels = ops::ChooseCodecKernels("auto", nullptr);
  StripeReader reader(manifest, kernels, StripeCheck::kFull);
  const Status decoded = reader.DecodeWhole(0, encoded.stored, back);
  EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_TRUE(std::equal(back.begin(), back.end(), raw.begin()));
  return encoded.codec;
}

std::vector<std::byte> Noise(size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> noise(bytes);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
  return noise;
}

TEST(StripeEncoder, NoiseIsStoredRawAndWhatCodesIsCoded) {
  const std::vector<std::byte> noise = Noise(3 * 4096 * 4, 1);
  std::vector<std::byte> zeros(noise.size());
  for (const ops::Codec codec : {ops::Codec::kChain, ops::Codec::kHuffman}) {
    CodecTable codecs;
    codecs.fill(codec);
    StripeEncoder encoder(codecs);
    for (uint8_t kind = 0; kind < kElementKinds; ++kind) {
      const auto element = static_cast<ops::Element>(kind);
      EXPECT_EQ(RoundTrip(encoder, element, noise), io::kCodecRaw) << int{kind};
      EXPECT_EQ(RoundTrip(encoder, element, zeros),
                kind == 0 ? io::kCodecRaw : static_cast<uint8_t>(codec));
    }
  }
}

TEST(StripeEncoder, EveryBf16PatternAndEveryLengthComesBack) {
  std::vector<uint16_t> patterns(65536);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i * 40503);
  std::vector<uint16_t> trained(3 * kEncodedChunk);
  std::mt19937 random(2);
  for (uint16_t& value : trained) value = static_cast<uint16_t>(0x3c00 + random() % 0x300);
  for (const ops::Codec codec : {ops::Codec::kRaw, ops::Codec::kChain, ops::Codec::kHuffman}) {
    CodecTable codecs;
    codecs.fill(codec);
    StripeEncoder encoder(codecs);
    RoundTrip(encoder, ops::Element::kBf16, std::as_bytes(std::span(patterns)));
    for (size_t n = kEncodedChunk - 2; n < kEncodedChunk + 3; ++n) {
      RoundTrip(encoder, ops::Element::kBf16, std::as_bytes(std::span(trained).first(n)));
    }
    for (size_t n = 1; n < 2 * kEncodedChunk + 70; n += (n < 150 ? 1 : 97) * kSerialStep) {
      RoundTrip(encoder, ops::Element::kBf16, std::as_bytes(std::span(trained).first(n)));
    }
    const std::vector<std::byte> fp8 = [] {
      std::vector<std::byte> all(1024);
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
      return all;
    }();
    RoundTrip(encoder, ops::Element::kF8E4M3, fp8);
    RoundTrip(encoder, ops::Element::kF8E5M2, fp8);
  }
}

}  // namespace
}  // namespace penstock::k3
