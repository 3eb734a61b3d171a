// The bytes of a stripe whose sum is right, so that everything behind it is exercised. Of an
// accepted one the chunks must lie inside of the bytes, one behind another, with room behind them.
// The first two bytes choose codec and element as the manifest has them, the third the elements
// (0: those of the head), the rest is the stripe.
// covers: io/pack/stripe io/pack/layout

#include <cstdint>
#include <cstring>
#include <vector>

#include "io/pack.h"
#include "runtime/check.h"

namespace {

using namespace penstock::io;

void CheckView(const StripeView& view, std::span<const std::byte> stored) {
  const std::byte* end = view.code().data() + view.code().size();
  uint64_t elements = 0;
  size_t checked = 0;
  for (size_t i = 0; i < view.chunks(); ++i) {
    const StripeChunk chunk = view.chunk(i);
    PENSTOCK_CHECK(chunk.stored.data() >= end && !chunk.stored.empty());
    end = chunk.stored.data() + chunk.stored.size();
    PENSTOCK_CHECK(end + kStripeSlack <= stored.data() + stored.size());
    PENSTOCK_CHECK(chunk.first == elements && chunk.elements > 0);
    elements += chunk.elements;
    checked += view.CheckChunk(i).has_value();
    PENSTOCK_CHECK(!view.ChunkError(i, "x").message.empty());
  }
  PENSTOCK_CHECK(elements == view.elements());
  PENSTOCK_CHECK(checked <= view.chunks());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  // Exactly as many bytes as there are, so that a read behind them is seen.
  const std::vector<std::byte> stored(reinterpret_cast<const std::byte*>(data + 3),
                                      reinterpret_cast<const std::byte*>(data + size));
  PackManifest manifest;
  Stripe stripe = {.codec = data[0], .elements = data[2], .stored_bytes = stored.size()};
  StripeHead head;
  if (stored.size() >= sizeof head) {
    std::memcpy(&head, stored.data(), sizeof head);
    const uint64_t front = FrontBytes(head.chunks, head.code_bytes);
    if (front <= stored.size()) stripe.stored_sum = SumOf(std::span(stored).first(front));
    if (stripe.elements == 0) stripe.elements = head.elements;
  }
  manifest.tensors = {{"t", data[1], stripe.elements}};
  manifest.stripes = {stripe};
  const auto view = StripeView::Parse(stored, manifest, 0);
  if (view) {
    CheckView(*view, stored);
  } else {
    PENSTOCK_CHECK(view.error().code == penstock::ErrorCode::kUnsound);
  }
  return 0;
}
