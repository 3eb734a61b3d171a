#include "io/pack/write/builder.h"

#include <algorithm>
#include <cstring>

#include "runtime/check.h"

namespace penstock::io {

uint64_t StripeBuilder::MostBytes(uint64_t elements, uint32_t chunk_elements, uint64_t code_bytes,
                                  uint64_t most_chunk_bytes) {
  const uint64_t chunks = (elements + chunk_elements - 1) / chunk_elements;
  return RoundUp(sizeof(StripeHead) + sizeof(ChunkEntry) * chunks + code_bytes, kChunkAlignment) +
         chunks * RoundUp(most_chunk_bytes, kChunkAlignment) + kStripeSlack;
}

void StripeBuilder::Reserve(size_t bytes) {
  if (bytes <= bytes_.size()) return;
  if (bytes > bytes_.capacity()) bytes_.reserve(std::max(bytes, bytes_.size() + bytes_.size() / 2));
  bytes_.resize(bytes_.capacity());
}

void StripeBuilder::Begin(uint8_t codec, uint8_t element, std::span<const std::byte> raw,
                          uint32_t chunk_elements, std::span<const std::byte> code) {
  const uint64_t width = ElementWidth(element);
  PENSTOCK_CHECK(codec < kCodecs && width > 0 && chunk_elements > 0);
  PENSTOCK_CHECK(codec == kCodecRaw ? code.empty() : element != kElementBytes);
  PENSTOCK_CHECK(!raw.empty() && raw.size() <= kMaxStripeRawBytes && raw.size() % width == 0);
  PENSTOCK_CHECK(code.size() <= UINT32_MAX);
  const uint64_t elements = raw.size() / width;
  head_ = {.codec = codec,
           .element = element,
           .chunks = static_cast<uint32_t>((elements - 1) / chunk_elements + 1),
           .chunk_elements = chunk_elements,
           .elements = elements,
           .code_bytes = static_cast<uint32_t>(code.size())};
  raw_ = raw;
  chunk_ = 0;
  room_ = 0;
  at_ = FrontBytes(head_.chunks, head_.code_bytes);
  Reserve(at_);
  std::memcpy(bytes_.data(), &head_, sizeof head_);
  const size_t code_at = sizeof head_ + sizeof(ChunkEntry) * size_t{head_.chunks};
  if (!code.empty()) std::memcpy(bytes_.data() + code_at, code.data(), code.size());
  std::memset(bytes_.data() + code_at + code.size(), 0, at_ - code_at - code.size());
}

std::span<const std::byte> StripeBuilder::raw() const {
  PENSTOCK_CHECK(!done());
  const size_t chunk_bytes = size_t{head_.chunk_elements} * ElementWidth(head_.element);
  const size_t begin = chunk_ * chunk_bytes;
  return raw_.subspan(begin, std::min(chunk_bytes, raw_.size() - begin));
}

std::span<std::byte> StripeBuilder::Room(size_t bytes) {
  PENSTOCK_CHECK(!done());
  Reserve(RoundUp(at_ + bytes, kChunkAlignment) + kStripeSlack);
  room_ = bytes;
  return std::span(bytes_).subspan(at_, bytes);
}

void StripeBuilder::Commit(size_t stored_bytes) {
  const std::span<const std::byte> decoded = raw();
  PENSTOCK_CHECK(stored_bytes > 0 && stored_bytes <= room_ && stored_bytes <= UINT32_MAX);
  const std::span<const std::byte> stored = std::span(bytes_).subspan(at_, stored_bytes);
  const ChunkEntry entry = {.stored_bytes = static_cast<uint32_t>(stored_bytes),
                            .position = static_cast<uint32_t>(at_ / kChunkAlignment),
                            .stored_sum = SumOf(stored),
                            .raw_sum = SumOf(decoded)};
  std::memcpy(bytes_.data() + sizeof head_ + sizeof entry * size_t{chunk_}, &entry, sizeof entry);
  const size_t end = RoundUp(at_ + stored_bytes, kChunkAlignment);
  std::memset(bytes_.data() + at_ + stored_bytes, 0, end - at_ - stored_bytes);
  at_ = end;
  room_ = 0;
  ++chunk_;
}

EncodedStripe StripeBuilder::Finish() {
  PENSTOCK_CHECK(done());
  Reserve(at_ + kStripeSlack);
  std::memset(bytes_.data() + at_, 0, kStripeSlack);
  const std::span<const std::byte> bytes(bytes_);
  PENSTOCK_CHECK(at_ + kStripeSlack <= kMaxStripeStoredBytes);
  return {.codec = head_.codec,
          .element = head_.element,
          .elements = head_.elements,
          .stored = bytes.first(at_ + kStripeSlack),
          .stored_sum = SumOf(bytes.first(FrontBytes(head_.chunks, head_.code_bytes))),
          .raw_sum = SumOf(raw_)};
}

EncodedStripe StripeBuilder::BuildRaw(uint8_t element, std::span<const std::byte> raw,
                                      uint32_t chunk_elements) {
  Begin(kCodecRaw, element, raw, chunk_elements, {});
  while (!done()) {
    const std::span<const std::byte> chunk = this->raw();
    std::memcpy(Room(chunk.size()).data(), chunk.data(), chunk.size());
    Commit(chunk.size());
  }
  return Finish();
}

}  // namespace penstock::io
