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
Error AsFailure(Error error) {
  if (error.code == ErrorCode::kUnsound) error.code = ErrorCode::kFailed;
  return error;
}

Status AsFailure(Status status) {
  if (status) return status;
  return AsFailure(std::move(status).error());
}

// What ops::ChunkDecoder allocates: the symbols of a chunk and the tables of a code.
constexpr size_t kDecoderBytes = 160 * kKiB;

}  // namespace

StripeDecoder::StripeDecoder(const io::Pack& pack, const Pass& pass,
                             const ops::CodecKernels& kernels, StripeCheck check,
                             std::span<std::byte> tile)
    : pack_(pack), pass_(pass), tile_(tile), reader_(pack.manifest(), kernels, check) {}

Status StripeDecoder::Begin(uint32_t number, std::span<const std::byte> stored) {
  PENSTOCK_TRY_VOID(AsFailure(reader_.Begin(number, stored)));
  const Product& product = pass_.ProductOf(pass_.extents()[number]);
  const uint64_t tile_elements = uint64_t{TileRows(product)} * product.matrix.cols;
  const uint64_t got = reader_.view().chunk_elements();
  if (got == tile_elements) return {};
  return Failed(fmt::format("{}, {}: expected chunks of {} elements, got {}; pack it again",
                            pack_.manifest().stripes_path, pack_.manifest().StripeName(number),
                            tile_elements, got));
}

Result<std::span<const std::byte>> StripeDecoder::Tile(size_t i) {
  if (static_cast<ops::Codec>(reader_.view().codec()) == ops::Codec::kRaw) {
    auto stored = reader_.InPlace(i);
    if (!stored) return AsFailure(std::move(stored).error());
    return stored;
  }
  const size_t bytes = reader_.ChunkBytes(i);
  PENSTOCK_CHECK(bytes <= tile_.size());
  const std::span<std::byte> tile = tile_.first(bytes);
  if (Status decoded = reader_.Decode(i, tile, ops::Store::kCached); !decoded) {
    return AsFailure(std::move(decoded).error());
  }
  return std::span<const std::byte>(tile);
}

Status StripeDecoder::DecodeAll(std::span<std::byte> raw, ops::Store store) {
  return AsFailure(reader_.DecodeAll(raw, store));
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
