#include "models/k3/census/entropy/entropy.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "io/checkpoint.h"
#include "io/queue/extent_feed.h"
#include "models/k3/census/entropy/sums.h"
#include "models/k3/census/entropy/tally.h"
#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr uint64_t kFullReadBytes = kMiB;  // Of a read with --full.
constexpr size_t kReadsInFlight = 8;

// What of a tensor is read, in order; offsets are its own.
std::vector<SampleBlock> PiecesOf(uint64_t bytes, const EntropySample& sample) {
  std::vector<SampleBlock> pieces;
  const auto cut = [&](const SampleBlock& block) {
    for (uint64_t at = 0; at < block.bytes; at += kFullReadBytes) {
      pieces.push_back({block.offset + at, std::min(kFullReadBytes, block.bytes - at)});
    }
  };
  if (sample.full) {
    cut({0, bytes});
  } else {
    for (const SampleBlock& block : SampleBlocks(bytes, sample)) cut(block);
  }
  return pieces;
}

// Reads the tensors of a plan one after another and measures each.
class Surveyor {
 public:
  Surveyor(const io::Checkpoint& checkpoint, const EntropyPlan& plan, const EntropyRequest& request,
           io::ExtentFeed feed)
      : checkpoint_(checkpoint), plan_(plan), request_(request), feed_(std::move(feed)) {}

  Status Begin() { return Progress(0); }

  Result<EntropyFigures> Measure(const EntropyTensor& tensor) {
    const io::TensorInfo info = checkpoint_.tensor(tensor.index);
    const EntropyForm form = EntropyFormOf(info);
    EntropyFigures out;
    out.form = form;
    out.tensors = 1;
    out.bytes = info.extent.bytes;
    out.elements = form == EntropyForm::kOther ? out.bytes / io::DtypeBytes(info.dtype)
                                               : ElementsIn(form, out.bytes);
    if (!tensor.read) return out;
    Tally tally(form);
    std::vector<std::byte> sample;
    if (auto read = Read(info, tally, sample); !read) {
      Error error = std::move(read).error();
      if (error.code == ErrorCode::kFailed) error.where = "tensor " + info.name();
      return error;
    }
    Take(tally.Figures(), out);
    Code(sample, out);
    return out;
  }

 private:
  Status Progress(uint64_t more) {
    done_ += more;
    if (!request_.progress || request_.progress(done_, plan_.bytes)) return {};
    return Cancelled(
        fmt::format("stopped after {} of {}", DescribeSize(done_), DescribeSize(plan_.bytes)));
  }

  Status Read(const io::TensorInfo& info, Tally& tally, std::vector<std::byte>& sample) {
    const auto pieces = PiecesOf(info.extent.bytes, request_.sample);
    const auto blocks = SampleBlocks(info.extent.bytes, request_.sample);
    std::vector<io::Extent> extents;
    for (const SampleBlock& piece : pieces) {
      extents.push_back({info.extent.file, info.extent.offset + piece.offset, piece.bytes});
    }
    return feed_.Run(extents, [&](size_t i, std::span<const std::byte> bytes) {
      tally.Add(bytes);
      if (request_.coded) Keep(blocks, pieces[i].offset, bytes, sample);
      return Progress(bytes.size());
    });
  }

  // Appends what of a piece belongs to the sample.
  static void Keep(std::span<const SampleBlock> blocks, uint64_t offset,
                   std::span<const std::byte> piece, std::vector<std::byte>& sample) {
    for (const SampleBlock& block : blocks) {
      const uint64_t begin = std::max(block.offset, offset);
      const uint64_t end = std::min(block.offset + block.bytes, offset + piece.size());
      if (begin >= end) continue;
      const auto part = piece.subspan(begin - offset, end - begin);
      sample.insert(sample.end(), part.begin(), part.end());
    }
  }

  static void Take(TallyFigures figures, EntropyFigures& out) {
    out.sampled_tensors = 1;
    out.sampled = figures.elements;
    out.zeros = figures.zeros;
    out.nonfinite = figures.nonfinite;
    out.exponent_bits = figures.exponent_bits;
    out.rest_bits = figures.rest_bits;
    out.code_bits = figures.code_bits;
    out.tail = figures.tail;
    for (const uint64_t count : figures.exponents) {
      out.exponents.push_back(static_cast<double>(count) / static_cast<double>(figures.elements));
    }
  }

  void Code(std::span<const std::byte> sample, EntropyFigures& out) const {
    const EntropyLayout& layout = LayoutOf(out.form);
    const uint64_t elements = ElementsIn(out.form, sample.size());
    if (!request_.coded || elements == 0) return;
    for (size_t i = 0; i < kCensusCodecs.size(); ++i) {
      if (kCensusCodecs[i] != ops::Codec::kRaw && !layout.splits()) continue;
      const uint64_t bytes = request_.coded(kCensusCodecs[i], layout.element, sample);
      out.coded_bits[i] = 8 * static_cast<double>(bytes) / static_cast<double>(elements);
    }
  }

  const io::Checkpoint& checkpoint_;
  const EntropyPlan& plan_;
  const EntropyRequest& request_;
  io::ExtentFeed feed_;
  uint64_t done_ = 0;
};

// Layers of the K3 checkpoint that the directory holds; 0 when it holds another.
size_t LayersOf(const io::Checkpoint& checkpoint) {
  const auto config = ReadConfig(checkpoint.directory());
  if (!config || !Catalogue::Build(checkpoint, config->shape)) return 0;
  return config->shape.layers;
}

using FormSums = std::map<EntropyForm, FiguresSum>;

void AppendRows(const std::string& name, std::optional<size_t> layer, const FormSums& sums,
                std::vector<EntropyRow>& rows) {
  for (const auto& [form, sum] : sums) rows.push_back({name, layer, sum.Figures()});
}

Status Survey(Surveyor& surveyor, const io::Checkpoint& checkpoint, const EntropyPlan& plan,
              const EntropyRequest& request, EntropyCensus& census) {
  PENSTOCK_TRY_VOID(surveyor.Begin());
  FormSums total;
  std::array<FormSums, kCensusKinds> kinds;
  std::vector<FormSums> groups(plan.groups.size());
  for (const EntropyTensor& tensor : plan.tensors) {
    PENSTOCK_TRY(EntropyFigures figures, surveyor.Measure(tensor));
    for (FormSums* sums :
         {&total, &kinds[static_cast<size_t>(tensor.kind)], &groups[tensor.group]}) {
      (*sums)[figures.form].Add(figures, tensor.weight);
    }
    if (!request.tensors) continue;
    figures.exponents.clear();  // 2 KiB for each.
    figures.exponents.shrink_to_fit();
    census.tensors.push_back({checkpoint.tensor(tensor.index).name(),
                              plan.groups[tensor.group].layer, std::move(figures)});
  }
  AppendRows("all", {}, total, census.totals);
  for (size_t kind = 0; census.k3 && kind < kCensusKinds; ++kind) {
    AppendRows(std::string(CensusKindName(static_cast<CensusKind>(kind))), {}, kinds[kind],
               census.kinds);
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    AppendRows(plan.groups[i].name, plan.groups[i].layer, groups[i], census.groups);
  }
  return {};
}

}  // namespace

std::optional<double> EntropyFigures::measured_width() const {
  if (!exponent_bits) return std::nullopt;
  return *exponent_bits + 1 + LayoutOf(form).mantissa_bits();
}

std::optional<double> EntropyFigures::bound_width() const {
  if (!tail) return std::nullopt;
  return ops::ExponentEntropyBounds(tail->alpha).upper + 1 + LayoutOf(form).mantissa_bits();
}

std::optional<double> EntropyFigures::ratio(size_t codec) const {
  if (!coded_bits[codec]) return std::nullopt;
  return LayoutOf(form).bits / *coded_bits[codec];
}

Result<EntropyCensus> TakeEntropyCensus(const std::string& directory, const EntropyRequest& request,
                                        const io::IoOptions& options, const Notice& notice) {
  PENSTOCK_TRY(const auto checkpoint, io::Checkpoint::Open(directory, notice));
  EntropyCensus census;
  census.directory = checkpoint->directory();
  census.sample = request.sample;
  PENSTOCK_TRY(census.identity, checkpoint->Identity());
  const size_t layers = LayersOf(*checkpoint);
  census.k3 = layers > 0;
  const EntropyPlan plan = PlanEntropy(*checkpoint, layers, request.sample);
  census.experts = plan.experts;
  census.read_bytes = plan.bytes;
  PENSTOCK_TRY(const auto reader, io::MakeReader(options, checkpoint->files(), {}, notice));
  PENSTOCK_TRY(io::ExtentFeed feed, io::ExtentFeed::Make(*reader, kFullReadBytes, kReadsInFlight));
  Surveyor surveyor(*checkpoint, plan, request, std::move(feed));
  PENSTOCK_TRY_VOID(Survey(surveyor, *checkpoint, plan, request, census));
  return census;
}

}  // namespace penstock::k3
