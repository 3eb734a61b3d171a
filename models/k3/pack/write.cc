#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/file.h"
#include "io/options.h"
#include "io/pack/write/begun.h"
#include "io/queue/extent_feed.h"
#include "io/read_now.h"
#include "models/k3/commands/version.h"
#include "models/k3/pack/codec_choice.h"
#include "models/k3/pack/encoder.h"
#include "models/k3/pack/pack.h"
#include "models/k3/pack/source.h"
#include "models/k3/pack/stripe_flow.h"
#include "models/k3/pack/threads.h"
#include "models/k3/weights/packed/same_source.h"
#include "runtime/measure/clock.h"

namespace penstock::k3 {
namespace {

constexpr uint64_t kSampleBytes = 4 * kMiB;  // Of each kind of element.
constexpr uint64_t kDiskSampleBytes = 256 * kMiB;

class EncodeJob : public StripeJob {
 public:
  EncodeJob(const PackSource& source, const CodecTable& codecs, size_t slots,
            io::PackWriter& writer, const PackWatch& watch)
      : source_(source), writer_(writer), watch_(watch), encoded_(slots) {
    for (size_t i = 0; i < slots; ++i) encoders_.emplace_back(codecs);
    for (size_t i = 0; i < writer.next(); ++i) done_ += source.stripes[i].extent.bytes;
  }

  std::vector<io::Extent> Reads(size_t i) const override { return {source_.stripes[i].extent}; }

  Status Work(size_t i, size_t slot, std::span<const BufferRef> bytes) override {
    const uint64_t start = NowNs(Clock::kThreadCpu);
    encoded_[slot] =
        encoders_[slot].Encode(source_.ElementOf(i), {bytes[0].data(), bytes[0].size()},
                               source_.stripes[i].chunk_elements);
    encode_ns_ += NowNs(Clock::kThreadCpu) - start;
    encoded_bytes_ += bytes[0].size();
    return {};
  }

  Status End(size_t i, size_t slot) override {
    PENSTOCK_TRY_VOID(writer_.Append(encoded_[slot]));
    done_ += source_.stripes[i].extent.bytes;
    watch_.advance(done_);
    return {};
  }

  uint64_t done() const { return done_; }  // Raw bytes.
  double encode_seconds() const { return static_cast<double>(encode_ns_) * 1e-9; }
  uint64_t encoded_bytes() const { return encoded_bytes_; }

 private:
  const PackSource& source_;
  io::PackWriter& writer_;
  const PackWatch& watch_;
  std::vector<StripeEncoder> encoders_;  // [slots]
  std::vector<io::EncodedStripe> encoded_;
  uint64_t done_ = 0;
  std::atomic<uint64_t> encode_ns_{0};
  std::atomic<uint64_t> encoded_bytes_{0};
};

// Bytes a second from the device of the source, by reading some of it, several reads in flight.
Result<double> MeasureDisk(const PackSource& source, io::Reader& reader) {
  uint64_t bytes = 0;
  std::vector<io::Extent> extents;
  for (size_t i = 0; i < source.stripes.size() && bytes < kDiskSampleBytes; ++i) {
    extents.push_back(source.stripes[i].extent);
    bytes += extents.back().bytes;
  }
  const uint64_t most = source.largest_stripe();
  PENSTOCK_TRY(io::ExtentFeed feed,
               io::ExtentFeed::Make(reader, most, SlotsFor(3, most, kPackMemory)));
  const uint64_t start = NowNs(Clock::kWall);
  PENSTOCK_TRY_VOID(feed.Run(extents, [](size_t, std::span<const std::byte>) { return Status(); }));
  return static_cast<double>(bytes) * 1e9 /
         static_cast<double>(std::max<uint64_t>(NowNs(Clock::kWall) - start, 1));
}

// Elements of this kind out of the middle of the source.
Result<std::vector<std::byte>> Sample(const PackSource& source, io::Reader& reader,
                                      ops::Element element) {
  std::vector<size_t> stripes;
  for (size_t i = 0; i < source.stripes.size(); ++i) {
    if (source.ElementOf(i) == element) stripes.push_back(i);
  }
  std::vector<std::byte> sample;
  if (stripes.empty()) return sample;
  io::Extent extent = source.stripes[stripes[stripes.size() / 2]].extent;
  extent.bytes = std::min(extent.bytes, kSampleBytes);
  PENSTOCK_TRY(const BufferRef bytes, io::ReadNow(reader, extent));
  sample.assign(bytes.data(), bytes.data() + bytes.size());
  return sample;
}

Result<CodecTable> ChooseByMeasurement(const PackOptions& options, const PackSource& source,
                                       io::Reader& reader, size_t threads, const PackWatch& watch) {
  auto disk_rate = static_cast<double>(options.disk.bytes);
  if (disk_rate == 0) {
    PENSTOCK_TRY(disk_rate, MeasureDisk(source, reader));
  }
  const double cores = static_cast<double>(options.cores != 0 ? options.cores : threads);
  const ops::CodecKernels kernels = ops::ChooseCodecKernels("auto", watch.notice);
  CodecTable codecs{};
  for (size_t kind = 1; kind < kElementKinds; ++kind) {
    const auto element = static_cast<ops::Element>(kind);
    PENSTOCK_TRY(const std::vector<std::byte> sample, Sample(source, reader, element));
    if (sample.empty()) continue;
    PENSTOCK_TRY(const std::vector<CodecRate> rates, MeasureCodecs(element, sample, kernels));
    codecs[kind] = ChooseCodec(rates, disk_rate, cores);
    for (const CodecRate& rate : rates) {
      Tell(watch.notice,
           fmt::format("{}: {} ratio {:.4f}, delivers {:.2f} GB/s from {:.2f} GB/s and {} cores{}",
                       ElementName(element), io::CodecName(static_cast<uint8_t>(rate.codec)),
                       rate.ratio, Delivered(rate, disk_rate, cores) * 1e-9, disk_rate * 1e-9,
                       cores, rate.codec == codecs[kind] ? ": chosen" : ""));
    }
  }
  return codecs;
}

// The codecs, and the parameters that say so. A pack that was begun with --codec auto goes on with
// what was chosen then.
Result<CodecTable> ChooseCodecs(const PackOptions& options, const PackSource& source,
                                io::Reader& reader, size_t threads, const PackWatch& watch,
                                io::PackParameters& parameters) {
  CodecTable codecs{};
  if (options.codec != "auto") {
    codecs.fill(static_cast<ops::Codec>(*io::CodecNumber(options.codec)));
    return codecs;
  }
  parameters.extra["disk"] = FormatSize(options.disk);
  parameters.extra["cores"] = std::to_string(options.cores);
  PENSTOCK_TRY(const std::optional<io::PackParameters> begun, io::BegunPack(options.out));
  if (begun && begun->codec == "auto" && begun->extra.count("codecs") != 0) {
    parameters.extra["codecs"] = begun->extra.at("codecs");
    return ParseCodecTable(begun->extra.at("codecs"));
  }
  PENSTOCK_TRY(codecs, ChooseByMeasurement(options, source, reader, threads, watch));
  parameters.extra["codecs"] = CodecTableText(codecs);
  return codecs;
}

Result<PackSource> SourceOf(const PackOptions& options, const Notice& notice) {
  if (options.out.empty()) return Refused("expected a directory for the pack: -o DIR");
  if (options.model.empty() == options.tensor_file.empty()) {
    return Refused("expected one of a checkpoint, -m DIR, and --tensor-file FILE");
  }
  if (io::HasFile(io::PackPath(options.out, io::kManifestName))) {
    return Refused(fmt::format("{}: the pack that is there is complete", options.out));
  }
  if (!options.tensor_file.empty()) return FileSource(options.tensor_file, options.stripe.bytes);
  return TrunkSource(options.model, options.stripe.bytes, notice);
}

// What is there must come from this source: the identity alone has not seen all of it.
Status CheckBegun(const PackSource& source, const io::PackManifest& begun) {
  std::vector<io::Extent> extents;
  for (const SourceStripe& stripe : source.stripes) extents.push_back(stripe.extent);
  return CheckSameSource(begun, extents, source.files);
}

std::string CodecCounts(const io::PackManifest& manifest) {
  std::string out;
  const auto statistics = manifest.Statistics();
  for (uint8_t codec = 0; codec < io::kCodecs; ++codec) {
    if (statistics[codec].stripes == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", io::CodecName(codec),
                       statistics[codec].stripes);
  }
  return out;
}

// What trained weights come to, hundredths of their size by kind of element.
uint64_t ExpectedBytes(const PackSource& source, const CodecTable& codecs) {
  constexpr std::array<uint64_t, kElementKinds> kHundredths = {100, 67, 86, 85, 85, 84};
  uint64_t bytes = 0;
  for (size_t i = 0; i < source.stripes.size(); ++i) {
    const auto kind = static_cast<size_t>(source.ElementOf(i));
    const bool coded = codecs[kind] != ops::Codec::kRaw;
    bytes += source.stripes[i].extent.bytes * (coded ? kHundredths[kind] : 100) / 100;
    bytes += io::kStripeAlignment;  // Its front, and zeros up to the next one.
  }
  return bytes;
}

io::PackWriterOptions WriterOptions(const PackSource& source, const CodecTable& codecs,
                                    const PackWatch& watch) {
  io::PackWriterOptions options;
  options.expected_bytes = ExpectedBytes(source, codecs);
  options.notice = watch.notice;
  options.on_check = [&watch, begun = false](uint64_t done, uint64_t of) mutable {
    if (!begun) watch.begin("checking what is there", of, 0);
    begun = true;
    watch.advance(done);
    return !watch.stop || !watch.stop();
  };
  return options;
}

}  // namespace

Result<PackResult> WritePack(const PackOptions& options, const PackWatch& watch) {
  PENSTOCK_TRY(const PackSource source, SourceOf(options, watch.notice));
  PENSTOCK_TRY(const size_t threads, ThreadsFor(options.threads));
  PENSTOCK_TRY(const std::unique_ptr<io::Reader> reader,
               io::MakeReader(io::IoOptions(), source.files, {}, watch.notice));
  io::PackParameters parameters{.kind = source.kind,
                                .identity = source.identity,
                                .source = source.name,
                                .codec = options.codec,
                                .stripe_bytes = options.stripe.bytes,
                                .extra = {},
                                .program = fmt::format("penstock {}", kVersion)};
  PENSTOCK_TRY(const CodecTable codecs,
               ChooseCodecs(options, source, *reader, threads, watch, parameters));
  PENSTOCK_TRY(const std::unique_ptr<io::PackWriter> writer,
               io::PackWriter::Open(options.out, std::move(parameters), source.tensors, source.plan,
                                    WriterOptions(source, codecs, watch)));
  PackResult result;
  result.resumed_stripes = writer->next();
  if (writer->next() != 0) PENSTOCK_TRY_VOID(CheckBegun(source, writer->manifest()));
  const StripeFlowOptions flow{
      .threads = threads,
      .slots = SlotsFor(threads, source.largest_stripe() / 10 * 22 + kMiB, kPackMemory),
      .stop = watch.stop};
  EncodeJob job(source, codecs, flow.slots, *writer, watch);
  watch.begin("packing", source.raw_bytes(), job.done());
  const Status ran = RunStripes(job, writer->next(), source.stripes.size(), *reader, flow);
  if (!ran) {
    // What is there stays: the error of the run weighs more than one of keeping it.
    (void)writer->Flush().has_value();
    return ran.error();
  }
  PENSTOCK_TRY_VOID(writer->Finish());
  const io::CodecTotals totals = writer->manifest().Totals();
  result.stripes = totals.stripes;
  result.raw_bytes = totals.raw_bytes;
  result.stored_bytes = totals.stored_bytes;
  result.file_bytes = writer->manifest().file_bytes;
  result.codecs = CodecCounts(writer->manifest());
  result.encode_seconds = job.encode_seconds();
  result.encoded_bytes = job.encoded_bytes();
  return result;
}

}  // namespace penstock::k3
