#include "models/k3/plan/weight_bytes.h"

#include <cmath>
#include <functional>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "models/k3/experts/experts.h"
#include "models/k3/weights/resident.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

using Rounded = std::function<uint64_t(const io::Extent&)>;

// Vectors of the layers as stored, without those behind the last one.
uint64_t VectorBytes(const Catalogue& catalogue) {
  uint64_t bytes = 0;
  const auto add = [&](const Vector& vector) { bytes += vector.extent.bytes; };
  for (size_t i = 0; i < catalogue.layers(); ++i) {
    const LayerTensors& layer = catalogue.layer(i);
    for (const Vector* vector : {&layer.input_norm, &layer.post_norm, &layer.attn_res_norm,
                                 &layer.attn_res_proj, &layer.mlp_res_norm, &layer.mlp_res_proj}) {
      add(*vector);
    }
    if (layer.kda) {
      const KdaTensors& kda = *layer.kda;
      for (const Vector* vector :
           {&kda.q_conv, &kda.k_conv, &kda.v_conv, &kda.a_log, &kda.dt_bias, &kda.o_norm}) {
        add(*vector);
      }
    }
    if (layer.mla) {
      add(layer.mla->q_a_norm);
      add(layer.mla->kv_a_norm);
    }
    if (layer.moe) {
      add(layer.moe->bias);
      add(layer.moe->latent_norm);
    }
  }
  return bytes;
}

// Far above the release, whose trunk takes about 14,000.
constexpr double kMostExtents = 1 << 22;

// About as many as a pass would have, whatever the shape: sums of hostile sizes overflow integers.
double MostExtents(const Catalogue& catalogue, uint64_t extent_bytes) {
  double extents = 0;
  const auto add = [&](const Matrix& matrix) {
    extents += 1 + static_cast<double>(matrix.extent.bytes) / static_cast<double>(extent_bytes);
  };
  const auto add_all = [&](std::initializer_list<const Matrix*> matrices) {
    for (const Matrix* matrix : matrices) add(*matrix);
  };
  for (size_t i = 0; i < catalogue.layers(); ++i) {
    const LayerTensors& layer = catalogue.layer(i);
    if (layer.kda) {
      const KdaTensors& kda = *layer.kda;
      add_all(
          {&kda.q, &kda.k, &kda.v, &kda.g, &kda.o, &kda.f_a, &kda.f_b, &kda.b, &kda.g_a, &kda.g_b});
    }
    if (layer.mla) {
      const MlaTensors& mla = *layer.mla;
      add_all({&mla.q_a, &mla.q_b, &mla.kv_a, &mla.kv_b, &mla.g, &mla.o});
    }
    if (layer.dense) add_all({&layer.dense->gate, &layer.dense->up, &layer.dense->down});
    if (layer.moe) {
      const MoeTensors& moe = *layer.moe;
      add_all({&moe.router, &moe.latent_down, &moe.latent_up, &moe.shared.gate, &moe.shared.up,
               &moe.shared.down});
    }
  }
  add(catalogue.head);
  return extents;
}

WeightBytes Measure(const Catalogue& catalogue, const Shape& shape, const Pass& pass,
                    uint64_t alignment, const Rounded& rounded) {
  WeightBytes out;
  out.alignment = alignment;
  out.packed = pass.packed();
  out.pieces.reserve(pass.extents().size());
  for (uint32_t i = 0; i < pass.extents().size(); ++i) {
    const PassExtent& extent = pass.extents()[i];
    const Product& product = pass.ProductOf(extent);
    out.pieces.push_back({product.role, product.layer, extent.extent.bytes,
                          RoundUp(rounded(extent.extent), alignment), pass.RawBytes(i)});
  }
  for (size_t layer = 0; layer <= shape.layers + 1; ++layer) {
    out.layer_first.push_back(pass.FirstExtentOf(layer));
  }
  out.moe_layers = shape.moe_layers();
  out.experts = shape.experts;
  out.top_k = shape.top_k;
  out.vector_bytes = VectorBytes(catalogue);
  for (const Vector* vector : {&catalogue.norm, &catalogue.out_res_norm, &catalogue.out_res_proj}) {
    out.final_vector_bytes += vector->extent.bytes;
  }
  out.resident_bytes = Resident::Bytes(catalogue);
  out.embed_row_bytes = uint64_t{2} * shape.hidden;
  // Three matrices of half a byte and a scale for each 32 values.
  if (out.moe_layers != 0) out.expert_bytes = 3 * shape.expert_width * shape.latent / 32 * 17;
  return out;
}

}  // namespace

uint64_t WeightBytes::TrunkPayload() const {
  uint64_t bytes = 0;
  for (const PieceBytes& piece : pieces) bytes += piece.role == Role::kHead ? 0 : piece.payload;
  return bytes;
}

uint64_t WeightBytes::HeadPayload() const {
  uint64_t bytes = 0;
  for (const PieceBytes& piece : pieces) bytes += piece.role == Role::kHead ? piece.payload : 0;
  return bytes;
}

WeightBytes MeasureWeights(const Catalogue& catalogue, const Shape& shape, const Pass& pass,
                           const io::FileSet& files) {
  const Rounded rounded = [&](const io::Extent& extent) { return files.RoundedBytes(extent); };
  WeightBytes out = Measure(catalogue, shape, pass, files.Alignment(), rounded);
  out.slot_bytes = Experts::SlotBytes(catalogue, shape, rounded, out.alignment);
  return out;
}

Result<WeightBytes> AssumeWeights(const Shape& shape, uint64_t extent_bytes, double pack_ratio) {
  constexpr uint64_t kAlignment = 4096;
  const Catalogue catalogue = Catalogue::Assume(shape);
  if (MostExtents(catalogue, extent_bytes) > kMostExtents) {
    return Refused(fmt::format("the trunk of this shape takes more than {} reads of {}",
                               kMostExtents, FormatSize({extent_bytes})));
  }
  const Pass pass = Pass::Build(catalogue, shape, extent_bytes);
  WeightBytes out = Measure(catalogue, shape, pass, kAlignment, [&](const io::Extent& extent) {
    return RoundUp(extent.bytes, kAlignment) + kAlignment;
  });
  // The six tensors of an expert lie one behind the other in the release: one read.
  if (out.expert_bytes != 0) out.slot_bytes = RoundUp(out.expert_bytes, kAlignment) + kAlignment;
  return pack_ratio == 0 ? out : PackedAs(std::move(out), pack_ratio);
}

WeightBytes PackedAs(WeightBytes weights, double ratio) {
  constexpr uint64_t kAlignment = 4096;  // Of stripes, which is why they need no rounding.
  weights.packed = true;
  for (PieceBytes& piece : weights.pieces) {
    const double stored = std::ceil(static_cast<double>(piece.raw) * ratio);
    piece.payload = piece.buffer = RoundUp(static_cast<uint64_t>(stored), kAlignment);
  }
  return weights;
}

}  // namespace penstock::k3
