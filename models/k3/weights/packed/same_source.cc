#include "models/k3/weights/packed/same_source.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "io/safetensors/regular_file.h"

namespace penstock::k3 {
namespace {

// Reads pieces of some files, one after another, with few of them open.
class PieceReader {
 public:
  explicit PieceReader(std::span<const std::string> files) : files_(files) {}

  // Valid until the next call.
  Result<std::span<const std::byte>> Read(const io::Extent& extent) {
    if (!file_ || number_ != extent.file) {
      PENSTOCK_TRY(io::RegularFile opened, io::RegularFile::Open(files_[extent.file]));
      file_.emplace(std::move(opened));
      number_ = extent.file;
    }
    bytes_.resize(extent.bytes);
    PENSTOCK_TRY_VOID(file_->ReadAt(extent.offset, bytes_));
    return std::as_bytes(std::span(bytes_));
  }

 private:
  const std::span<const std::string> files_;
  std::optional<io::RegularFile> file_;
  io::FileId number_ = 0;
  std::vector<char> bytes_;
};

class Comparison {
 public:
  Comparison(const io::PackManifest& manifest, std::span<const io::Extent> source,
             std::span<const std::string> files)
      : manifest_(manifest), source_(source), files_(files), reader_(files), stripes_(stored_) {}

  // All elements of a stripe.
  Status Stripe(size_t i) {
    PENSTOCK_TRY(const auto elements, reader_.Read(source_[i]));
    return Compare(i, source_[i], io::SumOf(elements), manifest_.stripes[i].raw_sum);
  }

  // One chunk of it. Answers the bytes it read of the source.
  Result<uint64_t> Chunk(size_t i, uint64_t pick) {
    const io::Stripe& stripe = manifest_.stripes[i];
    PENSTOCK_TRY(const auto head_bytes, stripes_.Read({0, stripe.offset, sizeof(io::StripeHead)}));
    io::StripeHead head;
    std::memcpy(&head, head_bytes.data(), sizeof head);
    // Nothing of it has been checked: what it says is used only if it can be.
    const uint64_t width = stripe.raw_bytes / stripe.elements;
    if (head.chunks == 0 || head.chunk_elements == 0 ||
        (stripe.elements - 1) / head.chunk_elements + 1 != head.chunks ||
        io::FrontBytes(head.chunks, 0) > stripe.stored_bytes) {
      return Refused(fmt::format("{}, {}: its head is damaged", manifest_.stripes_path,
                                 manifest_.StripeName(i)));
    }
    const uint64_t chunk = pick % head.chunks;
    PENSTOCK_TRY(const auto entry_bytes,
                 stripes_.Read({0, stripe.offset + sizeof head + chunk * sizeof(io::ChunkEntry),
                                sizeof(io::ChunkEntry)}));
    io::ChunkEntry entry;
    std::memcpy(&entry, entry_bytes.data(), sizeof entry);
    const uint64_t first = chunk * head.chunk_elements;
    io::Extent extent = source_[i];
    extent.offset += first * width;
    extent.bytes = std::min<uint64_t>(head.chunk_elements, stripe.elements - first) * width;
    PENSTOCK_TRY(const auto elements, reader_.Read(extent));
    PENSTOCK_TRY_VOID(Compare(i, extent, io::SumOf(elements), entry.raw_sum));
    return extent.bytes;
  }

 private:
  Status Compare(size_t i, const io::Extent& where, uint64_t expected, uint64_t got) const {
    if (expected == got) return {};
    return Refused(fmt::format(
        "{} was made from another source: {} has {} bytes at offset {} of {} with the sum {}, the "
        "source has {} (identity {})",
        manifest_.stripes_path, manifest_.StripeName(i), where.bytes, where.offset,
        files_[where.file], io::SumText(got), io::SumText(expected),
        manifest_.parameters.identity));
  }

  const io::PackManifest& manifest_;
  const std::span<const io::Extent> source_;
  const std::span<const std::string> files_;
  PieceReader reader_;
  const std::vector<std::string> stored_ = {manifest_.stripes_path};
  PieceReader stripes_;
};

}  // namespace

Status CheckSameSource(const io::PackManifest& manifest, std::span<const io::Extent> source,
                       std::span<const std::string> files, uint64_t budget) {
  Comparison comparison(manifest, source, files);
  if (manifest.Totals().raw_bytes <= budget) {
    for (size_t i = 0; i < manifest.stripes.size(); ++i) {
      PENSTOCK_TRY_VOID(comparison.Stripe(i));
    }
    return {};
  }
  uint64_t pick = 0;
  uint64_t compared = 0;
  while (compared < budget) {
    for (size_t begin = 0; begin < manifest.stripes.size();) {
      const auto stripes = manifest.StripesOf(manifest.stripes[begin].tensor);
      // A walk that meets other stripes and chunks every time: 2^64 over the golden ratio.
      pick += 0x9e3779b97f4a7c15;
      PENSTOCK_TRY(const uint64_t bytes,
                   comparison.Chunk(begin + (pick >> 32) % stripes.size(), pick >> 16));
      compared += bytes;
      begin += stripes.size();
    }
  }
  return {};
}

}  // namespace penstock::k3
