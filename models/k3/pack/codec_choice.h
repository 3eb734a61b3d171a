#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/k3/pack/encoder.h"
#include "ops/codec/choose.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What a codec did to a sample, on one thread of this machine.
struct CodecRate {
  ops::Codec codec = ops::Codec::kRaw;
  double ratio = 1;        // Stored to raw bytes.
  double decode_rate = 0;  // Raw bytes a second; 0: costs nothing (raw).
};

// Raw bytes a second that a device of `disk_rate` and so many cores deliver:
// min(disk_rate / ratio, cores * decode_rate).
double Delivered(const CodecRate& rate, double disk_rate, double cores);

// The codec that delivers most; of those within a hundredth of it, the one that decodes fastest,
// because the cores have other work. `rates` has one entry at least.
ops::Codec ChooseCodec(std::span<const CodecRate> rates, double disk_rate, double cores);

// Measures every codec on `sample`, some MiB of elements of one kind. kUnsound when one of them does
// not give the sample back.
Result<std::vector<CodecRate>> MeasureCodecs(ops::Element element,
                                             std::span<const std::byte> sample,
                                             const ops::CodecKernels& kernels);

const char* ElementName(ops::Element element);  // "bf16"

// "bf16 chain, f16 huffman": the table in words, for the manifest and for people, and back from it.
std::string CodecTableText(const CodecTable& codecs);
Result<CodecTable> ParseCodecTable(const std::string& text);

}  // namespace penstock::k3
