#include "models/k3/weights/packed/decode_choice.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "io/pack/read_stripe.h"
#include "runtime/measure/clock.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kLooked = 64;  // Stripes among which the one to measure is chosen.
constexpr int kRounds = 3;      // The best counts: what disturbs a measurement only adds to it.

// The coded stripe with the most rows, kNone without one. Latent attention takes its rows in another
// way and is left out.
uint32_t StripeToMeasure(const io::Pack& pack, const Pass& pass) {
  const auto& stripes = pack.manifest().stripes;
  uint32_t best = kNone;
  for (uint32_t i = 0; i < std::min(kLooked, stripes.size()); ++i) {
    const bool plain = pass.ProductOf(pass.extents()[i]).role != Role::kMlaKvB;
    if (stripes[i].codec == io::kCodecRaw || !plain) continue;
    if (best == kNone || stripes[i].raw_bytes > stripes[best].raw_bytes) best = i;
  }
  return best;
}

class Measurement {
 public:
  Measurement(const Pass& pass, const ops::Kernels& kernels, uint32_t number,
              StripeDecoder& decoder, std::vector<std::byte>& rows)
      : product_(pass.ProductOf(pass.extents()[number])),
        kernels_(kernels),
        decoder_(decoder),
        rows_(rows),
        x_(product_.matrix.cols, 0.5f),
        y_(product_.matrix.rows) {}

  Status Fused(size_t tiles) {
    for (size_t i = 0; i < tiles; ++i) {
      PENSTOCK_TRY(const auto tile, decoder_.Tile(i));
      Multiply(tile.data(), tile.size());
    }
    return {};
  }
  Status Decode() { return decoder_.DecodeAll(rows_, ops::Store::kStreaming); }
  void MultiplyRows() { Multiply(rows_.data(), rows_.size()); }

 private:
  void Multiply(const std::byte* rows, size_t bytes) {
    const size_t cols = product_.matrix.cols;
    kernels_.matvec_bf16(reinterpret_cast<const uint16_t*>(rows), bytes / (2 * cols), cols,
                         x_.data(), cols, 1, y_.data(), y_.size());
  }

  const Product& product_;
  const ops::Kernels& kernels_;
  StripeDecoder& decoder_;
  std::vector<std::byte>& rows_;
  std::vector<float> x_;
  std::vector<float> y_;
};

template <class Work>
double NsOf(const Work& work) {
  const uint64_t start = NowNs(Clock::kWall);
  work();
  return static_cast<double>(NowNs(Clock::kWall) - start);
}

}  // namespace

Result<DecodeCost> MeasureDecode(const io::Pack& pack, const Pass& pass,
                                 const ops::CodecKernels& codecs, const ops::Kernels& kernels) {
  const uint32_t number = StripeToMeasure(pack, pass);
  if (number == kNone) return DecodeCost{};
  PENSTOCK_TRY(const std::vector<std::byte> stored, io::ReadStripe(pack, number));
  PENSTOCK_TRY(const auto decoders,
               StripeDecoders::Create(pack, pass, codecs, StripeCheck::kStored, 1));
  StripeDecoders::Lease decoder = decoders->Take();
  PENSTOCK_TRY_VOID(decoder->Begin(number, stored));
  std::vector<std::byte> rows(pass.RawBytes(number));
  Measurement measured(pass, kernels, number, *decoder.operator->(), rows);
  const double most = std::numeric_limits<double>::max();
  DecodeCost cost{most, most, most};
  for (int round = 0; round < kRounds; ++round) {
    Status status;
    cost.fused = std::min(cost.fused, NsOf([&] { status = measured.Fused(decoder->tiles()); }));
    PENSTOCK_TRY_VOID(status);
    cost.decode = std::min(cost.decode, NsOf([&] { status = measured.Decode(); }));
    PENSTOCK_TRY_VOID(status);
    cost.product = std::min(cost.product, NsOf([&] { measured.MultiplyRows(); }));
  }
  const double kib = static_cast<double>(rows.size()) / kKiB;
  return DecodeCost{cost.fused / kib, cost.decode / kib, cost.product / kib};
}

double FusedTime(const DecodeCost& cost, const DecodeCores& cores) {
  return cost.fused / static_cast<double>(cores.compute);
}

double NodeTime(const DecodeCost& cost, const DecodeCores& cores) {
  if (cores.shared) return (cost.decode + cost.product) / static_cast<double>(cores.compute);
  return std::max(cost.decode / static_cast<double>(cores.decode),
                  cost.product / static_cast<double>(cores.compute));
}

}  // namespace penstock::k3
