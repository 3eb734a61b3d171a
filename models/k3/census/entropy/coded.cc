#include "models/k3/census/entropy/coded.h"

#include <algorithm>
#include <vector>

namespace penstock::k3 {

uint64_t CodedBytes(ops::Codec codec, ops::Element element, std::span<const std::byte> raw) {
  ops::ChunkEncoder encoder(codec, element);
  encoder.Begin(raw);
  uint64_t bytes = encoder.code().size();
  std::vector<std::byte> out(encoder.MostBytes(kCensusChunk));
  const size_t step = kCensusChunk * ops::ElementBytes(element);
  for (size_t at = 0; at < raw.size(); at += step) {
    bytes += encoder.Encode(raw.subspan(at, std::min(step, raw.size() - at)), out);
  }
  return bytes;
}

}  // namespace penstock::k3
