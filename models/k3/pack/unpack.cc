#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/file.h"
#include "io/options.h"
#include "models/k3/pack/pack.h"
#include "models/k3/pack/stripe_flow.h"
#include "models/k3/pack/threads.h"
#include "models/k3/weights/packed/stripe_reader.h"
#include "ops/codec/choose.h"
#include "runtime/output/file_out.h"

namespace penstock::k3 {
namespace {

class DecodeJob : public StripeJob {
 public:
  DecodeJob(const io::Pack& pack, const ops::CodecKernels& kernels, size_t slots, RecordFile& file,
            const PackWatch& watch)
      : pack_(pack), file_(file), watch_(watch), raw_(slots) {
    for (size_t i = 0; i < slots; ++i) {
      decoders_.emplace_back(pack.manifest(), kernels, StripeCheck::kFull);
    }
  }

  std::vector<io::Extent> Reads(size_t i) const override { return {pack_.extent(i, 0)}; }

  Status Work(size_t i, size_t slot, std::span<const BufferRef> bytes) override {
    raw_[slot].resize(pack_.manifest().stripes[i].raw_bytes);
    return decoders_[slot].DecodeWhole(i, {bytes[0].data(), bytes[0].size()}, raw_[slot]);
  }

  Status End(size_t, size_t slot) override {
    const std::vector<std::byte>& raw = raw_[slot];
    PENSTOCK_TRY_VOID(file_.Append({reinterpret_cast<const char*>(raw.data()), raw.size()}));
    done_ += raw.size();
    watch_.advance(done_);
    return {};
  }

 private:
  const io::Pack& pack_;
  RecordFile& file_;
  const PackWatch& watch_;
  std::vector<StripeReader> decoders_;  // [slots]
  std::vector<std::vector<std::byte>> raw_;
  uint64_t done_ = 0;
};

// A full disk shows before an hour's work, not behind it.
Status CheckRoom(const std::string& path, uint64_t bytes) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::error_code error;
  const std::filesystem::space_info room = std::filesystem::space(folder, error);
  if (error || room.available >= bytes) return {};  // Who cannot answer is asked by writing.
  return Refused(fmt::format("{}: expected room for {} bytes, got {}", folder.string(), bytes,
                             room.available));
}

}  // namespace

Result<UnpackResult> Unpack(const UnpackOptions& options, const PackWatch& watch) {
  if (options.pack.empty()) return Refused("expected the directory of a pack");
  if (options.out.empty()) return Refused("expected a file to write: -o FILE");
  PENSTOCK_TRY(const std::unique_ptr<io::Pack> pack, io::Pack::Open(options.pack));
  if (pack->manifest().parameters.kind != "file") {
    return Refused(
        fmt::format("{}: expected the pack of a file (--tensor-file), got that of a {}, "
                    "which holds a part of its checkpoint only",
                    options.pack, pack->manifest().parameters.kind));
  }
  PENSTOCK_TRY(const size_t threads, ThreadsFor(options.threads));
  PENSTOCK_TRY(const std::unique_ptr<io::Reader> reader,
               io::MakeReader(io::IoOptions(), std::vector<std::string>{pack->stripes_path()}, {},
                              watch.notice));
  const ops::CodecKernels kernels = ops::ChooseCodecKernels("auto", watch.notice);
  uint64_t largest = 0;
  for (const io::Stripe& stripe : pack->manifest().stripes) {
    largest = std::max(largest, stripe.stored_bytes + stripe.raw_bytes);
  }
  const uint64_t bytes = pack->manifest().Totals().raw_bytes;
  PENSTOCK_TRY_VOID(CheckRoom(options.out, bytes));
  PENSTOCK_TRY(RecordFile file, RecordFile::Create(options.out, false));
  const StripeFlowOptions flow{
      .threads = threads, .slots = SlotsFor(threads, largest, kPackMemory), .stop = watch.stop};
  watch.begin("unpacking", bytes, 0);
  DecodeJob job(*pack, kernels, flow.slots, file, watch);
  Status written = RunStripes(job, 0, pack->manifest().stripes.size(), *reader, flow);
  if (written) written = file.Finish();
  if (!written) {
    file.Discard();  // It is made again at once; nobody should have to clear it away.
    return written.error();
  }
  return UnpackResult{bytes};
}

}  // namespace penstock::k3
