#include "io/pack/stripe.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "runtime/check.h"

namespace penstock::io {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

Result<StripeView> StripeView::Parse(std::span<const std::byte> stored,
                                     const PackManifest& manifest, size_t stripe) {
  StripeView view(stored, manifest, stripe);
  PENSTOCK_TRY_VOID(view.CheckFront());
  PENSTOCK_TRY_VOID(view.CheckHead());
  PENSTOCK_TRY_VOID(view.CheckTable());
  return view;
}

Status StripeView::CheckFront() {
  const Stripe& stripe = manifest_->stripes[stripe_];
  if (stored_.size() != stripe.stored_bytes || stored_.size() % kChunkAlignment != 0 ||
      stored_.size() < sizeof head_ + kStripeSlack) {
    return Bad(fmt::format("expected {} bytes, got {}", stripe.stored_bytes, stored_.size()));
  }
  std::memcpy(&head_, stored_.data(), sizeof head_);
  const uint64_t front_bytes = FrontBytes(head_.chunks, head_.code_bytes);
  if (front_bytes > stored_.size() - kStripeSlack) {
    return Bad(fmt::format("expected a front inside of its {} bytes, got one of {}", stored_.size(),
                           front_bytes));
  }
  const uint64_t sum = SumOf(stored_.first(front_bytes));
  if (sum == stripe.stored_sum) return {};
  return Bad(fmt::format("expected the sum {} of its front, got {}", SumText(stripe.stored_sum),
                         SumText(sum)));
}

Status StripeView::CheckHead() const {
  const Stripe& stripe = manifest_->stripes[stripe_];
  const uint8_t element = manifest_->tensors[stripe.tensor].element;
  if (head_.magic != kStripeMagic) {
    return Bad(fmt::format("expected the magic {:08x}, got {:08x}", kStripeMagic, head_.magic));
  }
  if (head_.codec != stripe.codec || head_.codec >= kCodecs) {
    return Bad(fmt::format("expected codec {}, got {}", stripe.codec, head_.codec));
  }
  if (head_.element != element || ElementWidth(element) == 0) {
    return Bad(fmt::format("expected element {}, got {}", element, head_.element));
  }
  if (head_.elements != stripe.elements) {
    return Bad(fmt::format("expected {} elements, got {}", stripe.elements, head_.elements));
  }
  if (head_.zero != 0 || head_.zero_too != 0) return Bad("expected zeros in its head, got else");
  if (head_.codec != kCodecRaw ? element == kElementBytes : head_.code_bytes != 0) {
    return Bad("expected bytes to be raw, and what is raw without a code, got else");
  }
  // Written so that no sum can overflow.
  const bool fits = head_.chunk_elements != 0 && head_.elements != 0 &&
                    (head_.elements - 1) / head_.chunk_elements + 1 == head_.chunks;
  if (!fits) {
    return Bad(fmt::format("expected chunks for {} elements, got {} of {} each", head_.elements,
                           head_.chunks, head_.chunk_elements));
  }
  const uint64_t used =
      sizeof head_ + sizeof(ChunkEntry) * uint64_t{head_.chunks} + uint64_t{head_.code_bytes};
  const uint64_t front_bytes = FrontBytes(head_.chunks, head_.code_bytes);
  if (!AllZero(stored_.subspan(used, front_bytes - used))) {
    return Bad("expected zeros behind its front, got else");
  }
  return {};
}

Status StripeView::CheckTable() const {
  const uint64_t end = (stored_.size() - kStripeSlack) / kChunkAlignment;
  const uint64_t width = ElementWidth(head_.element);
  uint64_t at = FrontBytes(head_.chunks, head_.code_bytes) / kChunkAlignment;
  for (uint32_t i = 0; i < head_.chunks; ++i) {
    const ChunkEntry chunk = entry(i);
    if (chunk.position != at) {
      return ChunkError(i, fmt::format("expected it at {}, got {}", at * kChunkAlignment,
                                       uint64_t{chunk.position} * kChunkAlignment));
    }
    const uint64_t elements = std::min<uint64_t>(
        head_.chunk_elements, head_.elements - uint64_t{i} * head_.chunk_elements);
    if (chunk.stored_bytes == 0 ||
        (head_.codec == kCodecRaw && chunk.stored_bytes != elements * width)) {
      return ChunkError(i, fmt::format("expected the bytes of {} elements, got {}", elements,
                                       chunk.stored_bytes));
    }
    at += RoundUp(chunk.stored_bytes, kChunkAlignment) / kChunkAlignment;
    if (at > end) {
      return ChunkError(i, fmt::format("expected it to end inside of {} bytes, got {}",
                                       end * kChunkAlignment, at * kChunkAlignment));
    }
  }
  if (at == end) return {};
  return Bad(fmt::format("expected chunks of {} bytes, got {}", end * kChunkAlignment,
                         at * kChunkAlignment));
}

std::span<const std::byte> StripeView::code() const {
  return stored_.subspan(sizeof head_ + sizeof(ChunkEntry) * size_t{head_.chunks},
                         head_.code_bytes);
}

ChunkEntry StripeView::entry(size_t i) const {
  ChunkEntry entry;
  std::memcpy(&entry, stored_.data() + sizeof head_ + sizeof entry * i, sizeof entry);
  return entry;
}

StripeChunk StripeView::chunk(size_t i) const {
  PENSTOCK_CHECK(i < chunks());
  const ChunkEntry found = entry(i);
  const uint64_t first = uint64_t{i} * head_.chunk_elements;
  return {.stored = stored_.subspan(found.position * kChunkAlignment, found.stored_bytes),
          .first = first,
          .elements = std::min<uint64_t>(head_.chunk_elements, head_.elements - first),
          .stored_sum = found.stored_sum,
          .raw_sum = found.raw_sum};
}

Status StripeView::CheckChunk(size_t i) const {
  const StripeChunk found = chunk(i);
  const uint64_t sum = SumOf(found.stored);
  if (sum != found.stored_sum) {
    return ChunkError(i, fmt::format("expected the sum {} of its stored bytes, got {}",
                                     SumText(found.stored_sum), SumText(sum)));
  }
  const auto begin = static_cast<size_t>(found.stored.data() - stored_.data());
  const size_t end =
      i + 1 == chunks() ? stored_.size() : begin + RoundUp(found.stored.size(), kChunkAlignment);
  const size_t used = begin + found.stored.size();
  if (!AllZero(stored_.subspan(used, end - used))) {
    return ChunkError(i, "expected zeros behind it, got else");
  }
  return {};
}

Status StripeView::CheckRaw(size_t i, std::span<const std::byte> raw) const {
  const uint64_t expected = chunk(i).raw_sum;
  const uint64_t sum = SumOf(raw);
  if (sum == expected) return {};
  return ChunkError(i, fmt::format("expected the sum {} of its elements, got {}", SumText(expected),
                                   SumText(sum)));
}

Error StripeView::ChunkError(size_t i, std::string_view what) const {
  return Bad(fmt::format("chunk {}: {}", i, what));
}

Error StripeView::Bad(std::string_view what) const {
  return Unsound(fmt::format("{}, {}, offset {}, {}", manifest_->stripes_path,
                             manifest_->StripeName(stripe_), manifest_->stripes[stripe_].offset,
                             what));
}

Status VerifyStripe(std::span<const std::byte> padded, const PackManifest& manifest,
                    size_t stripe) {
  const Stripe& expected = manifest.stripes[stripe];
  PENSTOCK_CHECK(padded.size() == expected.padded_bytes());
  PENSTOCK_TRY(const StripeView view,
               StripeView::Parse(padded.first(expected.stored_bytes), manifest, stripe));
  for (size_t i = 0; i < view.chunks(); ++i) PENSTOCK_TRY_VOID(view.CheckChunk(i));
  return VerifyPadding(padded, manifest, stripe);
}

Status VerifyPadding(std::span<const std::byte> padded, const PackManifest& manifest,
                     size_t stripe) {
  const Stripe& expected = manifest.stripes[stripe];
  if (AllZero(padded.subspan(expected.stored_bytes))) return {};
  return Unsound(fmt::format("{}, {}, offset {}: expected zeros behind it, got else",
                             manifest.stripes_path, manifest.StripeName(stripe),
                             expected.offset + expected.stored_bytes));
}

}  // namespace penstock::io
