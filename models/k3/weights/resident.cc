#include "models/k3/weights/resident.h"

#include <cstring>

#include "io/read_now.h"
#include "ops/cache_line.h"

namespace penstock::k3 {
namespace {

// Calls `visit` for each resident vector of the model with where its values go.
template <class Visit>
void ForEachVector(const LayerTensors& tensors, LayerVectors& out, Visit visit) {
  visit(tensors.input_norm, out.input_norm);
  visit(tensors.post_norm, out.post_norm);
  if (tensors.kda) {
    visit(tensors.kda->q_conv, out.q_conv);
    visit(tensors.kda->k_conv, out.k_conv);
    visit(tensors.kda->v_conv, out.v_conv);
    visit(tensors.kda->a_log, out.decay_scale);
    visit(tensors.kda->dt_bias, out.dt_bias);
    visit(tensors.kda->o_norm, out.o_norm);
  }
  if (tensors.mla) {
    visit(tensors.mla->q_a_norm, out.q_a_norm);
    visit(tensors.mla->kv_a_norm, out.kv_a_norm);
  }
  if (tensors.moe) {
    visit(tensors.moe->bias, out.router_bias);
    visit(tensors.moe->latent_norm, out.latent_norm);
  }
}

}  // namespace

// Fills the region front to back.
class Resident::Loader {
 public:
  Loader(io::Reader& reader, const ops::Kernels& kernels, float* memory)
      : reader_(reader), kernels_(kernels), next_(memory) {}

  // The tensor's values as f32.
  float* Load(const Vector& vector) {
    float* values = next_;
    next_ += ops::PaddedToLine(vector.size);
    if (!status_) return values;
    Result<BufferRef> bytes = io::ReadNow(reader_, vector.extent);
    if (!bytes) {
      status_ = std::move(bytes).error();
    } else if (vector.dtype == io::Dtype::kF32) {
      std::memcpy(values, bytes->data(), bytes->size());
    } else {
      kernels_.widen_bf16(reinterpret_cast<const uint16_t*>(bytes->data()), vector.size, values);
    }
    return values;
  }

  // norm * proj, elementwise: the factor of a residual mix.
  float* LoadFactor(const Vector& norm, const Vector& proj) {
    float* factor = Load(norm);
    float* const after = next_;
    const float* weights = Load(proj);
    for (size_t i = 0; i < norm.size; ++i) factor[i] *= weights[i];
    next_ = after;  // The projection's values are folded in; their place is free again.
    return factor;
  }

  Status status() const { return status_; }

 private:
  io::Reader& reader_;
  const ops::Kernels& kernels_;
  float* next_;
  Status status_;
};

size_t Resident::Bytes(const Catalogue& catalogue) {
  size_t floats = 0;
  const auto add = [&](const Vector& vector, const float*&) {
    floats += ops::PaddedToLine(vector.size);
  };
  for (size_t layer = 0; layer < catalogue.layers(); ++layer) {
    const LayerTensors& tensors = catalogue.layer(layer);
    LayerVectors unused;
    ForEachVector(tensors, unused, add);
    floats += ops::PaddedToLine(tensors.attn_res_norm.size) +
              ops::PaddedToLine(tensors.mlp_res_norm.size);
  }
  // The two final vectors, and room for the projection that is folded in last.
  floats +=
      ops::PaddedToLine(catalogue.norm.size) + 2 * ops::PaddedToLine(catalogue.out_res_norm.size);
  return floats * sizeof(float);
}

Result<std::unique_ptr<Resident>> Resident::Load(const Catalogue& catalogue, io::Reader& reader,
                                                 const ops::Kernels& kernels) {
  std::unique_ptr<Resident> resident(new Resident);
  PENSTOCK_TRY(resident->memory_, HugeRegion::Map(Bytes(catalogue)));
  resident->memory_.Touch();
  Loader loader(reader, kernels, reinterpret_cast<float*>(resident->memory_.data()));
  for (size_t layer = 0; layer < catalogue.layers(); ++layer) {
    const LayerTensors& tensors = catalogue.layer(layer);
    LayerVectors& vectors = resident->layers_.emplace_back();
    ForEachVector(tensors, vectors, [&](const Vector& vector, const float*& values) {
      float* loaded = loader.Load(vector);
      values = loaded;
      if (&values == &vectors.decay_scale) kernels.exp_minus(loaded, 0.0f, vector.size, loaded);
    });
    vectors.attn_factor = loader.LoadFactor(tensors.attn_res_norm, tensors.attn_res_proj);
    vectors.mlp_factor = loader.LoadFactor(tensors.mlp_res_norm, tensors.mlp_res_proj);
  }
  resident->norm = loader.Load(catalogue.norm);
  resident->out_factor = loader.LoadFactor(catalogue.out_res_norm, catalogue.out_res_proj);
  PENSTOCK_TRY_VOID(loader.status());
  return resident;
}

}  // namespace penstock::k3
