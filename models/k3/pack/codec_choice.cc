#include "models/k3/pack/codec_choice.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "runtime/measure/clock.h"

namespace penstock::k3 {
namespace {

constexpr std::array<const char*, kElementKinds> kElementNames = {"bytes", "bf16", "f16",
                                                                  "e4m3",  "e5m2", "f32"};
constexpr size_t kSampleChunkElements = 64 * 1024;
constexpr int kSampleRounds = 3;  // The best counts.

// The sample in one codec, as chunks one after another with slack behind the last.
struct Coded {
  std::vector<std::byte> code;
  std::vector<std::byte> bytes;
  std::vector<size_t> sizes;
};

Coded EncodeSample(ops::Codec codec, ops::Element element, std::span<const std::byte> sample) {
  ops::ChunkEncoder encoder(codec, element);
  encoder.Begin(sample);
  Coded coded;
  coded.code.assign(encoder.code().begin(), encoder.code().end());
  const size_t chunk = kSampleChunkElements * ops::ElementBytes(element);
  size_t used = 0;
  for (size_t at = 0; at < sample.size(); at += chunk) {
    const auto raw = sample.subspan(at, std::min(chunk, sample.size() - at));
    coded.bytes.resize(used + encoder.MostBytes(kSampleChunkElements));
    const size_t size = encoder.Encode(raw, std::span(coded.bytes).subspan(used));
    coded.sizes.push_back(size);
    used += size;
  }
  coded.bytes.resize(used + ops::kCodecSlack);
  return coded;
}

bool DecodeSample(ops::ChunkDecoder& decoder, const Coded& coded, size_t chunk,
                  std::span<std::byte> out) {
  size_t at = 0;
  size_t from = 0;
  for (const size_t size : coded.sizes) {
    const auto raw = out.subspan(at, std::min(chunk, out.size() - at));
    if (!decoder.Decode({coded.bytes.data() + from, size}, raw, ops::Store::kStreaming)) {
      return false;
    }
    at += raw.size();
    from += size;
  }
  return true;
}

}  // namespace

double Delivered(const CodecRate& rate, double disk_rate, double cores) {
  const double read = disk_rate / rate.ratio;
  return rate.decode_rate == 0 ? read : std::min(read, cores * rate.decode_rate);
}

ops::Codec ChooseCodec(std::span<const CodecRate> rates, double disk_rate, double cores) {
  double most = 0;
  for (const CodecRate& rate : rates) most = std::max(most, Delivered(rate, disk_rate, cores));
  const CodecRate* best = nullptr;
  const auto speed = [](const CodecRate& rate) {
    return rate.decode_rate == 0 ? std::numeric_limits<double>::max() : rate.decode_rate;
  };
  for (const CodecRate& rate : rates) {
    if (Delivered(rate, disk_rate, cores) < 0.99 * most) continue;
    if (best == nullptr || speed(rate) > speed(*best)) best = &rate;
  }
  return best->codec;
}

Result<std::vector<CodecRate>> MeasureCodecs(ops::Element element,
                                             std::span<const std::byte> sample,
                                             const ops::CodecKernels& kernels) {
  std::vector<CodecRate> rates{{}};
  if (element == ops::Element::kBytes || sample.empty()) return rates;
  const size_t chunk = kSampleChunkElements * ops::ElementBytes(element);
  std::vector<std::byte> out(sample.size());
  for (const ops::Codec codec : {ops::Codec::kChain, ops::Codec::kHuffman}) {
    const Coded coded = EncodeSample(codec, element, sample);
    ops::ChunkDecoder decoder(kernels);
    uint64_t best = std::numeric_limits<uint64_t>::max();
    bool whole = decoder.Begin(codec, element, coded.code);
    for (int round = 0; whole && round < kSampleRounds; ++round) {
      const uint64_t start = NowNs(Clock::kWall);
      whole = DecodeSample(decoder, coded, chunk, out);
      best = std::min(best, NowNs(Clock::kWall) - start);
    }
    if (!whole || std::memcmp(out.data(), sample.data(), sample.size()) != 0) {
      return Unsound(fmt::format("the codec {} does not give a sample of {} elements back",
                                 io::CodecName(static_cast<uint8_t>(codec)),
                                 kElementNames[static_cast<size_t>(element)]));
    }
    const auto bytes = static_cast<double>(sample.size());
    rates.push_back({codec, static_cast<double>(coded.bytes.size() - ops::kCodecSlack) / bytes,
                     bytes * 1e9 / static_cast<double>(std::max<uint64_t>(best, 1))});
  }
  return rates;
}

const char* ElementName(ops::Element element) {
  return kElementNames[static_cast<size_t>(element)];
}

std::string CodecTableText(const CodecTable& codecs) {
  std::string text;
  for (size_t i = 1; i < kElementKinds; ++i) {
    text += fmt::format("{}{} {}", i == 1 ? "" : ", ", kElementNames[i],
                        io::CodecName(static_cast<uint8_t>(codecs[i])));
  }
  return text;
}

Result<CodecTable> ParseCodecTable(const std::string& text) {
  // Few enough to try: what is written comes back or nothing does.
  CodecTable codecs{};
  const std::string framed = ", " + text + ",";
  for (size_t i = 1; i < kElementKinds; ++i) {
    for (const auto codec : {ops::Codec::kRaw, ops::Codec::kChain, ops::Codec::kHuffman}) {
      const std::string word =
          fmt::format(", {} {},", kElementNames[i], io::CodecName(static_cast<uint8_t>(codec)));
      if (framed.find(word) != std::string::npos) codecs[i] = codec;
    }
  }
  if (CodecTableText(codecs) == text) return codecs;
  return Refused(fmt::format("expected a codec for each kind of element, got \"{}\"", text));
}

}  // namespace penstock::k3
