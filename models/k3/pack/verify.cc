#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/file.h"
#include "io/options.h"
#include "models/k3/pack/pack.h"
#include "models/k3/pack/source.h"
#include "models/k3/pack/stripe_flow.h"
#include "models/k3/pack/threads.h"
#include "models/k3/weights/packed/stripe_reader.h"
#include "ops/codec/choose.h"

namespace penstock::k3 {
namespace {

class VerifyJob : public StripeJob {
 public:
  VerifyJob(const io::Pack& pack, const PackSource* source, const ops::CodecKernels& kernels,
            size_t slots, const PackWatch& watch)
      : pack_(pack), source_(source), watch_(watch), raw_(slots) {
    for (size_t i = 0; i < slots; ++i) {
      decoders_.emplace_back(pack.manifest(), kernels, StripeCheck::kFull);
    }
  }

  // The stripe with the zeros behind it; then what the source has in its place.
  std::vector<io::Extent> Reads(size_t i) const override {
    const io::Stripe& stripe = pack_.manifest().stripes[i];
    std::vector<io::Extent> reads = {{0, stripe.offset, stripe.padded_bytes()}};
    if (source_ != nullptr) {
      reads.push_back(source_->stripes[i].extent);
      ++reads.back().file;  // Behind the stripes, which are file 0.
    }
    return reads;
  }

  Status Work(size_t i, size_t slot, std::span<const BufferRef> bytes) override {
    const std::span<const std::byte> padded(bytes[0].data(), bytes[0].size());
    PENSTOCK_TRY_VOID(io::VerifyPadding(padded, pack_.manifest(), i));
    const io::Stripe& stripe = pack_.manifest().stripes[i];
    std::vector<std::byte>& raw = raw_[slot];
    raw.resize(stripe.raw_bytes);
    PENSTOCK_TRY_VOID(decoders_[slot].DecodeWhole(i, padded.first(stripe.stored_bytes), raw));
    if (source_ == nullptr) return {};
    return Compare(i, raw, {bytes[1].data(), bytes[1].size()});
  }

  Status End(size_t i, size_t) override {
    done_ += pack_.manifest().stripes[i].padded_bytes();
    watch_.advance(done_);
    return {};
  }

 private:
  Status Compare(size_t i, std::span<const std::byte> raw,
                 std::span<const std::byte> source) const {
    if (std::memcmp(raw.data(), source.data(), raw.size()) == 0) return {};
    const auto differ = std::mismatch(raw.begin(), raw.end(), source.begin());
    const auto at = static_cast<size_t>(differ.first - raw.begin());
    const io::Extent& extent = source_->stripes[i].extent;
    return Unsound(
        fmt::format("{}, {}: byte {} of {} is {:#04x}, expected {:#04x} from {} at offset {}",
                    pack_.stripes_path(), pack_.manifest().StripeName(i), at, raw.size(),
                    std::to_integer<int>(raw[at]), std::to_integer<int>(source[at]),
                    source_->files[extent.file], extent.offset + at));
  }

  const io::Pack& pack_;
  const PackSource* const source_;
  const PackWatch& watch_;
  std::vector<StripeReader> decoders_;  // [slots]
  std::vector<std::vector<std::byte>> raw_;
  uint64_t done_ = 0;
};

// What is wrong with a pack that is there is a finding, not a refusal.
Result<std::unique_ptr<io::Pack>> OpenToVerify(const std::string& directory) {
  Result<std::unique_ptr<io::Pack>> pack = io::Pack::Open(directory);
  if (pack || !io::HasFile(io::PackPath(directory, io::kManifestName))) return pack;
  Error error = std::move(pack).error();
  if (error.code == ErrorCode::kRefused) error.code = ErrorCode::kUnsound;
  return error;
}

// The source that the pack says it was made from, cut as it is.
Result<PackSource> SourceOf(const io::Pack& pack, const std::string& against,
                            const Notice& notice) {
  const io::PackParameters& parameters = pack.manifest().parameters;
  PENSTOCK_TRY(PackSource source, parameters.kind == "trunk"
                                      ? TrunkSource(against, parameters.stripe_bytes, notice)
                                      : FileSource(against, parameters.stripe_bytes));
  if (source.identity != parameters.identity) {
    return Unsound(
        fmt::format("{} was made from another source than {}: its identity is {}, that of "
                    "the source {}",
                    pack.directory(), against, parameters.identity, source.identity));
  }
  const bool same =
      source.tensors == pack.manifest().tensors &&
      std::ranges::equal(source.plan, pack.manifest().stripes, {}, {}, &io::Stripe::planned);
  if (same) return source;
  return Unsound(fmt::format("{}: its stripes are not those of {} cut to {} bytes",
                             pack.directory(), against, parameters.stripe_bytes));
}

}  // namespace

Result<VerifyResult> VerifyPack(const VerifyOptions& options, const PackWatch& watch) {
  if (options.pack.empty()) return Refused("expected the directory of a pack");
  PENSTOCK_TRY(const std::unique_ptr<io::Pack> pack, OpenToVerify(options.pack));
  std::optional<PackSource> source;
  std::vector<std::string> files = {pack->stripes_path()};
  if (!options.against.empty()) {
    PENSTOCK_TRY(source, SourceOf(*pack, options.against, watch.notice));
    files.insert(files.end(), source->files.begin(), source->files.end());
  }
  PENSTOCK_TRY(const size_t threads, ThreadsFor(options.threads));
  PENSTOCK_TRY(const std::unique_ptr<io::Reader> reader,
               io::MakeReader(io::IoOptions(), files, {}, watch.notice));
  const ops::CodecKernels kernels = ops::ChooseCodecKernels("auto", watch.notice);
  uint64_t largest = 0;
  for (const io::Stripe& stripe : pack->manifest().stripes) {
    largest = std::max(largest, stripe.padded_bytes() + 2 * stripe.raw_bytes);
  }
  const StripeFlowOptions flow{
      .threads = threads, .slots = SlotsFor(threads, largest, kPackMemory), .stop = watch.stop};
  watch.begin("verifying", pack->manifest().file_bytes, 0);
  VerifyJob job(*pack, source ? &*source : nullptr, kernels, flow.slots, watch);
  PENSTOCK_TRY_VOID(RunStripes(job, 0, pack->manifest().stripes.size(), *reader, flow));
  const io::CodecTotals totals = pack->manifest().Totals();
  return VerifyResult{totals.stripes, totals.stored_bytes, totals.raw_bytes,
                      source ? totals.raw_bytes : 0};
}

}  // namespace penstock::k3
