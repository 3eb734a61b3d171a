#include "models/k3/pack/decoder.h"

#include <fmt/format.h>

namespace penstock::k3 {

Status StripeReader::Decode(std::span<const std::byte> stored, size_t i, std::span<std::byte> raw) {
  PENSTOCK_TRY(const io::StripeView view, io::StripeView::Parse(stored, *manifest_, i));
  const auto element = static_cast<ops::Element>(view.element());
  if (!decoder_.Begin(static_cast<ops::Codec>(view.codec()), element, view.code())) {
    return view.ChunkError(0, "the code of the stripe is corrupt");
  }
  size_t at = 0;
  for (size_t c = 0; c < view.chunks(); ++c) {
    const io::StripeChunk chunk = view.chunk(c);
    const auto out = raw.subspan(at, chunk.elements * ops::ElementBytes(element));
    PENSTOCK_TRY_VOID(view.CheckChunk(c));
    if (!decoder_.Decode(chunk.stored, out, ops::Store::kCached)) {
      return view.ChunkError(c, "it does not decode");
    }
    PENSTOCK_TRY_VOID(view.CheckRaw(c, out));
    at += out.size();
  }
  const io::Stripe& stripe = manifest_->stripes[i];
  const uint64_t sum = io::SumOf(raw);
  if (at == raw.size() && sum == stripe.raw_sum) return {};
  return Unsound(fmt::format("{}, {}: expected the sum {} of its elements, got {}",
                             manifest_->stripes_path, manifest_->StripeName(i),
                             io::SumText(stripe.raw_sum), io::SumText(sum)));
}

}  // namespace penstock::k3
