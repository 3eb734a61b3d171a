#include "models/k3/pack/encoder.h"

namespace penstock::k3 {

io::EncodedStripe StripeEncoder::Encode(ops::Element element, std::span<const std::byte> raw,
                                        uint32_t chunk_elements) {
  const auto kind = static_cast<uint8_t>(element);
  const ops::Codec codec = element == ops::Element::kBytes ? ops::Codec::kRaw : codecs_[kind];
  const size_t width = ops::ElementBytes(element);
  if (codec == ops::Codec::kRaw) {
    builder_.Reserve(io::StripeBuilder::MostBytes(raw.size() / width, chunk_elements, 0,
                                                  size_t{chunk_elements} * width));
    return builder_.BuildRaw(kind, raw, chunk_elements);
  }
  if (!encoders_[kind]) encoders_[kind] = std::make_unique<ops::ChunkEncoder>(codec, element);
  ops::ChunkEncoder& encoder = *encoders_[kind];
  encoder.Begin(raw);
  builder_.Reserve(io::StripeBuilder::MostBytes(raw.size() / width, chunk_elements,
                                                encoder.code().size(),
                                                encoder.MostBytes(chunk_elements)));
  builder_.Begin(static_cast<uint8_t>(codec), kind, raw, chunk_elements, encoder.code());
  while (!builder_.done()) {
    const std::span<const std::byte> chunk = builder_.raw();
    const size_t most = encoder.MostBytes(chunk.size() / width);
    builder_.Commit(encoder.Encode(chunk, builder_.Room(most)));
  }
  const io::EncodedStripe coded = builder_.Finish();
  if (coded.stored.size() <= raw.size() - raw.size() / kLeastGain) return coded;
  return builder_.BuildRaw(kind, raw, chunk_elements);
}

}  // namespace penstock::k3
