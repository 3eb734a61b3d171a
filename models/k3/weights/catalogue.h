#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint.h"
#include "models/k3/config/shape.h"
#include "runtime/result.h"

namespace penstock::k3 {

// A bf16 matrix as stored, [rows][cols] row-major, applied as y = W x. Streamed, row block by row
// block: row r is the bytes [extent.offset + 2 * r * cols, + 2 * cols). rows == 0 means "not
// there".
struct Matrix {
  io::Extent extent;
  uint32_t rows = 0;
  uint32_t cols = 0;
};

// A tensor that stays resident: norm gains (bf16) and all F32 tensors, flattened row-major.
struct Vector {
  io::Extent extent;
  io::Dtype dtype = io::Dtype::kBF16;  // kBF16 or kF32.
  uint32_t size = 0;                   // Elements; extent.bytes == size * DtypeBytes(dtype).
};

// Kimi Delta Attention. P = heads * width, D = width, H = hidden.
struct KdaTensors {
  Matrix q, k, v;                 // [P, H]
  Matrix g;                       // [P, H] output gate; rows == 0 when the gate is low rank
  Matrix o;                       // [H, P]
  Matrix f_a, f_b;                // [D, H], [P, D] decay
  Matrix b;                       // [heads, H]
  Matrix g_a, g_b;                // [D, H], [P, D] low-rank gate; rows == 0 when it has full rank
  Vector q_conv, k_conv, v_conv;  // [P * taps] f32, taps of one channel adjacent
  Vector a_log;                   // [heads] f32: any zero padding of the stored tensor is cut off
  Vector dt_bias;                 // [P] f32
  Vector o_norm;                  // [D] f32
};

// Gated multi-head latent attention. r = q_rank, c = kv_rank.
struct MlaTensors {
  Matrix q_a, q_b;             // [r, H], [heads * (nope + rope), r]
  Matrix kv_a, kv_b;           // [c + rope, H], [heads * (nope + value), c]
  Matrix g, o;                 // [heads * value, H], [H, heads * value]
  Vector q_a_norm, kv_a_norm;  // [r], [c] bf16
};

// A gated MLP of width I (the dense layers, and the shared experts as one).
struct DenseTensors {
  Matrix gate, up, down;  // [I, H], [I, H], [H, I]
};

// What a mixture-of-experts layer has besides its routed experts. E experts, L latent width.
struct MoeTensors {
  Matrix router;                  // [E, H]
  Matrix latent_down, latent_up;  // [L, H], [H, L]
  DenseTensors shared;            // width shared_experts * expert_width
  Vector bias;                    // [E] f32, used for the choice only
  Vector latent_norm;             // [L] bf16
};

// One routed expert in MXFP4 (OCP Microscaling 1.0: E2M1 codes, one E8M0 scale per 32 columns).
// w1 is the gate [F, L], w2 the down matrix [L, F], w3 the up matrix [F, L]; packed rows take
// cols / 2 bytes, scale rows cols / 32.
struct ExpertTensors {
  io::Extent w1_packed, w1_scale;
  io::Extent w2_packed, w2_scale;
  io::Extent w3_packed, w3_scale;
};

struct LayerTensors {
  Vector input_norm, post_norm;         // [H] bf16
  Vector attn_res_norm, attn_res_proj;  // [H] bf16; stored for layer 0 too, which does not use them
  Vector mlp_res_norm, mlp_res_proj;    // [H] bf16
  std::optional<KdaTensors> kda;        // Exactly one of kda and mla,
  std::optional<MlaTensors> mla;
  std::optional<DenseTensors> dense;  // and exactly one of dense and moe.
  std::optional<MoeTensors> moe;
};

// Where every tensor of the text model lies, each checked for presence, dtype and shape against
// the config. Holds no names and no reference to the Checkpoint: that one can be dropped after
// Build. 32 bytes per expert tensor; immutable afterwards, so any thread may read it.
//
// Tensor names may carry the prefix of the multimodal wrapper ("language_model.") or not; one
// checkpoint uses one form throughout. Tensors of the wrapper (vision) are ignored.
class Catalogue {
 public:
  // kRefused with file, tensor, expected and got when a tensor is missing or is not what the
  // config says. The shape has been checked by ParseShape; the layers agree with shape.kda.
  static Result<Catalogue> Build(const io::Checkpoint& checkpoint, const Shape& shape);

  // The catalogue that a checkpoint of this shape would have, without its routed experts (`expert`
  // must not be called): every tensor with its size, at an offset of no meaning in a file that is
  // not there. For planning without weights.
  static Catalogue Assume(const Shape& shape);

  size_t layers() const { return layers_.size(); }
  const LayerTensors& layer(size_t index) const { return layers_[index]; }

  // Expert `e` of the MoE layer `layer` (both from zero; `layer` must be an MoE layer).
  ExpertTensors expert(size_t layer, size_t e) const;

  Matrix embed, head;                       // [V, H]
  Vector norm, out_res_norm, out_res_proj;  // [H] bf16

  const std::vector<std::string>& files() const { return files_; }  // Absolute; indexed by FileId.
  const std::string& FileName(io::FileId file) const { return files_[file]; }

 private:
  friend class CatalogueBuilder;
  Catalogue() = default;

  std::vector<std::string> files_;
  std::vector<LayerTensors> layers_;
  std::vector<size_t> first_expert_;    // [layers] index into experts_ of a layer's expert 0.
  std::vector<ExpertTensors> experts_;  // MoE layers in order, experts in numeric order.
};

}  // namespace penstock::k3
