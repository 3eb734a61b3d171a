#include "models/k3/pack/source.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/safetensors/header.h"
#include "io/safetensors/identity.h"
#include "io/safetensors/regular_file.h"
#include "models/k3/weights/packed/trunk_pack.h"
#include "models/k3/weights/pass.h"

namespace penstock::k3 {
namespace {

constexpr uint32_t kChunkElements = 64 * 1024;  // Of tensors that no product takes by rows.

ops::Element ElementOf(io::Dtype dtype) {
  switch (dtype) {
    case io::Dtype::kBF16:
      return ops::Element::kBf16;
    case io::Dtype::kF16:
      return ops::Element::kF16;
    case io::Dtype::kF8E4M3:
      return ops::Element::kF8E4M3;
    case io::Dtype::kF8E5M2:
      return ops::Element::kF8E5M2;
    case io::Dtype::kF32:
      return ops::Element::kF32;
    default:
      return ops::Element::kBytes;
  }
}

// The last part of a path: the same however somebody gets there.
std::string NameOf(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

// Cuts the bytes [begin, begin + bytes) of file 0 into stripes of a new tensor.
void AddTensor(PackSource& source, std::string name, ops::Element element, uint64_t begin,
               uint64_t bytes, uint64_t stripe_bytes) {
  const uint64_t width = ops::ElementBytes(element);
  const uint64_t elements = bytes / width;
  const auto tensor = static_cast<uint32_t>(source.tensors.size());
  source.tensors.push_back({std::move(name), static_cast<uint8_t>(element), elements});
  const uint64_t each =
      std::max<uint64_t>(1, stripe_bytes / width / kChunkElements) * uint64_t{kChunkElements};
  for (uint64_t first = 0; first < elements; first += each) {
    const uint64_t count = std::min(each, elements - first);
    source.plan.push_back({tensor, first, count});
    source.stripes.push_back({{0, begin + first * width, count * width}, kChunkElements});
  }
}

}  // namespace

uint64_t PackSource::raw_bytes() const {
  uint64_t bytes = 0;
  for (const SourceStripe& stripe : stripes) bytes += stripe.extent.bytes;
  return bytes;
}

uint64_t PackSource::largest_stripe() const {
  uint64_t most = 0;
  for (const SourceStripe& stripe : stripes) most = std::max(most, stripe.extent.bytes);
  return most;
}

Result<PackSource> TrunkSource(const std::string& directory, uint64_t stripe_bytes,
                               const Notice& notice) {
  PackSource source;
  source.kind = "trunk";
  source.name = NameOf(directory);
  PENSTOCK_TRY(const Config config, ReadConfig(directory));
  PENSTOCK_TRY(const std::unique_ptr<io::Checkpoint> checkpoint,
               io::Checkpoint::Open(directory, notice));
  PENSTOCK_TRY(const Catalogue catalogue, Catalogue::Build(*checkpoint, config.shape));
  PENSTOCK_TRY(source.identity, checkpoint->Identity());
  source.files = catalogue.files();
  const Pass pass = Pass::Build(catalogue, config.shape, stripe_bytes);
  source.tensors = TensorsOf(pass, config.shape);
  source.plan = StripesOf(pass);
  for (const PassExtent& extent : pass.extents()) {
    const Product& product = pass.ProductOf(extent);
    source.stripes.push_back({extent.extent, TileRows(product) * product.matrix.cols});
  }
  return source;
}

Result<PackSource> FileSource(const std::string& path, uint64_t stripe_bytes) {
  PENSTOCK_TRY(const io::RegularFile file, io::RegularFile::Open(path));
  PENSTOCK_TRY(const io::SafetensorsHeader header, io::ReadSafetensorsHeader(file));
  PackSource source;
  source.kind = "file";
  source.name = NameOf(path);
  source.files = {path};
  const io::ShardIdentity shard{path, header.hash, header.data_begin, header.data_bytes};
  PENSTOCK_TRY(source.identity, io::IdentityOf("", std::span(&shard, 1)));
  AddTensor(source, "__metadata__", ops::Element::kBytes, 0, header.data_begin, stripe_bytes);
  for (const io::SafetensorsHeader::Tensor& tensor : header.tensors) {
    AddTensor(source, std::string(header.name(tensor)), ElementOf(tensor.dtype),
              header.data_begin + tensor.begin, tensor.end - tensor.begin, stripe_bytes);
  }
  return source;
}

}  // namespace penstock::k3
