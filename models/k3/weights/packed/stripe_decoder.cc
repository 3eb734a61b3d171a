#include "models/k3/weights/packed/stripe_decoder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

size_t LargestTile(const Pass& pass) {
  size_t most = 0;
  for (const Product& product : pass.products()) {
    const size_t rows = std::min(TileRows(product), product.matrix.rows);
    most = std::max(most, rows * product.matrix.cols * 2);
  }
  return RoundUp(most, size_t{64});
}

// In a run a stripe that is not what it was is a failure of the device, as one that it cannot read.
Status AsFailure(Status status) {
  if (status || status.error().code != ErrorCode::kUnsound) return status;
  Error error = std::move(status).error();
  error.code = ErrorCode::kFailed;
  return error;
}

// What ops::ChunkDecoder allocates: the symbols of a chunk and the tables of a code.
constexpr size_t kDecoderBytes = 160 * kKiB;

}  // namespace

StripeDecoder::StripeDecoder(const io::Pack& pack, const Pass& pass,
                             const ops::CodecKernels& kernels, StripeCheck check,
                             std::span<std::byte> tile)
    : pack_(pack), pass_(pass), check_(check), tile_(tile), decoder_(kernels) {}

Status StripeDecoder::Parse(uint32_t number, std::span<const std::byte> stored) {
  PENSTOCK_TRY(view_, io::StripeView::Parse(stored, pack_.manifest(), number));
  const PassExtent& extent = pass_.extents()[number];
  const Product& product = pass_.ProductOf(extent);
  const uint64_t tile_elements = uint64_t{TileRows(product)} * product.matrix.cols;
  if (view_->chunk_elements() == tile_elements) return {};
  return Failed(fmt::format("{}, {}: expected chunks of {} elements, got {}; pack it again",
                            pack_.manifest().stripes_path, pack_.manifest().StripeName(number),
                            tile_elements, view_->chunk_elements()));
}

Status StripeDecoder::Begin(uint32_t number, std::span<const std::byte> stored) {
  PENSTOCK_TRY_VOID(AsFailure(Parse(number, stored)));
  if (coded_for_ == number) return {};
  coded_for_ = kNone;
  if (!decoder_.Begin(static_cast<ops::Codec>(view_->codec()),
                      static_cast<ops::Element>(view_->element()), view_->code())) {
    return AsFailure(view_->ChunkError(0, "the code of the stripe is corrupt"));
  }
  coded_for_ = number;
  return {};
}

size_t StripeDecoder::TileBytes(size_t i) const { return view_->chunk(i).elements * 2; }

Status StripeDecoder::Decode(size_t i, std::span<std::byte> raw, ops::Store store) {
  PENSTOCK_TRY_VOID(AsFailure(view_->CheckChunk(i)));
  if (!decoder_.Decode(view_->chunk(i).stored, raw, store)) {
    return AsFailure(view_->ChunkError(i, "it does not decode"));
  }
  return CheckRaw(i, raw);
}

Status StripeDecoder::CheckRaw(size_t i, std::span<const std::byte> raw) const {
  if (check_ != StripeCheck::kFull) return {};
  return AsFailure(view_->CheckRaw(i, raw));
}

Result<std::span<const std::byte>> StripeDecoder::Tile(size_t i) {
  if (static_cast<ops::Codec>(view_->codec()) == ops::Codec::kRaw) {
    PENSTOCK_TRY_VOID(AsFailure(view_->CheckChunk(i)));
    PENSTOCK_TRY_VOID(CheckRaw(i, view_->chunk(i).stored));
    return view_->chunk(i).stored;
  }
  PENSTOCK_CHECK(TileBytes(i) <= tile_.size());
  const std::span<std::byte> tile = tile_.first(TileBytes(i));
  PENSTOCK_TRY_VOID(Decode(i, tile, ops::Store::kCached));
  return std::span<const std::byte>(tile);
}

Status StripeDecoder::DecodeAll(std::span<std::byte> raw, ops::Store store) {
  size_t at = 0;
  for (size_t i = 0; i < view_->chunks(); ++i) {
    PENSTOCK_TRY_VOID(Decode(i, raw.subspan(at, TileBytes(i)), store));
    at += TileBytes(i);
  }
  PENSTOCK_CHECK(at == raw.size());
  return {};
}

size_t StripeDecoders::BytesEach(const Pass& pass) { return LargestTile(pass) + kDecoderBytes; }

Result<std::unique_ptr<StripeDecoders>> StripeDecoders::Create(const io::Pack& pack,
                                                               const Pass& pass,
                                                               const ops::CodecKernels& kernels,
                                                               StripeCheck check, size_t threads) {
  std::unique_ptr<StripeDecoders> made(new StripeDecoders);
  const size_t tile = LargestTile(pass);
  PENSTOCK_TRY(made->tiles_, HugeRegion::Map(tile * threads));
  made->tiles_.Touch();
  for (size_t i = 0; i < threads; ++i) {
    made->decoders_.push_back(std::make_unique<StripeDecoder>(
        pack, pass, kernels, check, std::span(made->tiles_.data() + i * tile, tile)));
    made->free_.push_back(made->decoders_.back().get());
  }
  return made;
}

StripeDecoders::Lease StripeDecoders::Take() {
  const std::lock_guard lock(mutex_);
  PENSTOCK_CHECK(!free_.empty());
  StripeDecoder* const decoder = free_.back();
  free_.pop_back();
  return Lease(*this, *decoder);
}

void StripeDecoders::Return(StripeDecoder& decoder) {
  const std::lock_guard lock(mutex_);
  free_.push_back(&decoder);
}

}  // namespace penstock::k3
