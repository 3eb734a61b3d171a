#include "models/k3/weights/packed/stripe_reader.h"

#include <fmt/format.h>

#include "runtime/check.h"

namespace penstock::k3 {

Status StripeReader::Begin(size_t number, std::span<const std::byte> stored) {
  PENSTOCK_TRY(view_, io::StripeView::Parse(stored, *manifest_, number));
  if (coded_for_ == number) return {};
  coded_for_.reset();
  if (!decoder_.Begin(static_cast<ops::Codec>(view_->codec()),
                      static_cast<ops::Element>(view_->element()), view_->code())) {
    return view_->ChunkError(0, "the code of the stripe is corrupt");
  }
  coded_for_ = number;
  return {};
}

size_t StripeReader::ChunkBytes(size_t i) const {
  return view_->chunk(i).elements * io::ElementWidth(view_->element());
}

Status StripeReader::CheckRaw(size_t i, std::span<const std::byte> raw) const {
  return check_ == StripeCheck::kFull ? view_->CheckRaw(i, raw) : Status();
}

Status StripeReader::Decode(size_t i, std::span<std::byte> raw, ops::Store store) {
  PENSTOCK_TRY_VOID(view_->CheckChunk(i));
  if (!decoder_.Decode(view_->chunk(i).stored, raw, store)) {
    return view_->ChunkError(i, "it does not decode");
  }
  return CheckRaw(i, raw);
}

Result<std::span<const std::byte>> StripeReader::InPlace(size_t i) const {
  PENSTOCK_TRY_VOID(view_->CheckChunk(i));
  const std::span<const std::byte> stored = view_->chunk(i).stored;
  PENSTOCK_TRY_VOID(CheckRaw(i, stored));
  return stored;
}

Status StripeReader::DecodeAll(std::span<std::byte> raw, ops::Store store) {
  size_t at = 0;
  for (size_t i = 0; i < view_->chunks(); ++i) {
    PENSTOCK_TRY_VOID(Decode(i, raw.subspan(at, ChunkBytes(i)), store));
    at += ChunkBytes(i);
  }
  PENSTOCK_CHECK(at == raw.size());
  return {};
}

Status StripeReader::DecodeWhole(size_t number, std::span<const std::byte> stored,
                                 std::span<std::byte> raw) {
  PENSTOCK_TRY_VOID(Begin(number, stored));
  PENSTOCK_TRY_VOID(DecodeAll(raw, ops::Store::kCached));
  const uint64_t expected = manifest_->stripes[number].raw_sum;
  const uint64_t sum = io::SumOf(raw);
  if (sum == expected) return {};
  return Unsound(fmt::format("{}, {}: expected the sum {} of its elements, got {}",
                             manifest_->stripes_path, manifest_->StripeName(number),
                             io::SumText(expected), io::SumText(sum)));
}

}  // namespace penstock::k3
