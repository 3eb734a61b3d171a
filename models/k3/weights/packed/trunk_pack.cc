#include "models/k3/weights/packed/trunk_pack.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/safetensors/regular_file.h"
#include "models/k3/weights/packed/same_source.h"
#include "ops/codec/element.h"

namespace penstock::k3 {

namespace {

std::string TensorName(const Product& product, const Shape& shape) {
  if (product.layer == shape.layers) return std::string(RoleName(product.role));
  return fmt::format("layers.{}.{}", product.layer, RoleName(product.role));
}

// The chunks of the first stripe of each product must be its tiles.
Status CheckTiles(const io::PackManifest& manifest, const Pass& pass) {
  PENSTOCK_TRY(const io::RegularFile file, io::RegularFile::Open(manifest.stripes_path));
  for (const Product& product : pass.products()) {
    const size_t i = product.first_extent;
    io::StripeHead head;
    PENSTOCK_TRY_VOID(
        file.ReadAt(manifest.stripes[i].offset, {reinterpret_cast<char*>(&head), sizeof head}));
    const uint64_t expected = uint64_t{TileRows(product)} * product.matrix.cols;
    if (head.chunk_elements == expected) continue;
    return Refused(fmt::format("{}, {}: expected chunks of {} elements, got {}; pack it again",
                               manifest.stripes_path, manifest.StripeName(i), expected,
                               head.chunk_elements));
  }
  return {};
}

}  // namespace

std::vector<io::PackTensor> TensorsOf(const Pass& pass, const Shape& shape) {
  std::vector<io::PackTensor> tensors;
  for (const Product& product : pass.products()) {
    tensors.push_back({TensorName(product, shape), static_cast<uint8_t>(ops::Element::kBf16),
                       uint64_t{product.matrix.rows} * product.matrix.cols});
  }
  return tensors;
}

std::vector<io::PlannedStripe> StripesOf(const Pass& pass) {
  std::vector<io::PlannedStripe> stripes;
  for (const PassExtent& extent : pass.extents()) {
    const uint64_t cols = pass.ProductOf(extent).matrix.cols;
    stripes.push_back({extent.product, extent.first_row * cols, extent.rows * cols});
  }
  return stripes;
}

Result<TrunkPack> OpenTrunkPack(const std::string& directory, const std::string& checkpoint_id,
                                const Catalogue& catalogue, const Shape& shape, io::FileId file) {
  TrunkPack trunk;
  PENSTOCK_TRY(trunk.pack, io::Pack::Open(directory));
  const io::PackManifest& manifest = trunk.pack->manifest();
  const io::PackParameters& parameters = manifest.parameters;
  if (parameters.kind != "trunk") {
    return Refused(fmt::format("{}: expected the pack of a trunk, got that of a {}", directory,
                               parameters.kind));
  }
  if (parameters.identity != checkpoint_id) {
    return Refused(
        fmt::format("{} is the pack of another checkpoint: expected identity {}, got {} ({})",
                    directory, checkpoint_id, parameters.identity, parameters.source));
  }
  trunk.pass = Pass::Build(catalogue, shape, parameters.stripe_bytes);
  if (manifest.tensors != TensorsOf(trunk.pass, shape)) {
    return Refused(
        fmt::format("{}: its tensors are not those of this checkpoint's trunk in order "
                    "of use; pack it again",
                    directory));
  }
  const std::vector<io::PlannedStripe> expected = StripesOf(trunk.pass);
  std::vector<io::Extent> extents;
  for (size_t i = 0; i < manifest.stripes.size(); ++i) {
    if (i >= expected.size() || manifest.stripes[i].planned() != expected[i]) {
      return Refused(
          fmt::format("{}: {} is cut otherwise than stripes of {} bytes are; pack it "
                      "again",
                      directory, manifest.StripeName(i), parameters.stripe_bytes));
    }
    extents.push_back(trunk.pack->extent(i, file));
  }
  if (extents.size() != expected.size()) {
    return Refused(
        fmt::format("{}: expected {} stripes, got {}", directory, expected.size(), extents.size()));
  }
  PENSTOCK_TRY_VOID(CheckTiles(manifest, trunk.pass));
  std::vector<io::Extent> source;
  for (const PassExtent& extent : trunk.pass.extents()) source.push_back(extent.extent);
  PENSTOCK_TRY_VOID(CheckSameSource(manifest, source, catalogue.files()));
  trunk.pass.ReadFrom(extents);
  return trunk;
}

}  // namespace penstock::k3
