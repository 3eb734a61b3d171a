#include "tests/models/k3/oracle/reference_model.h"

#include <utility>

#include "runtime/check.h"

namespace penstock::k3::oracle {

Result<ReferenceModel> ReferenceModel::Load(const std::string& directory) {
  PENSTOCK_TRY(Weights weights, LoadWeights(directory));
  return ReferenceModel(std::move(weights));
}

ReferenceModel::ReferenceModel(Weights weights) : weights_(std::move(weights)) { Reset(); }

void ReferenceModel::Reset() {
  states_.assign(weights_.config.layers, {});
  blocks_.clear();
  position_ = 0;
}

Vector ReferenceModel::Mix(const Vector& folded) const {
  std::vector<const Vector*> sources;
  for (const Vector& block : blocks_) sources.push_back(&block);
  if (!acc_.empty()) sources.push_back(&acc_);
  const size_t n = folded.size();
  Vector scales;
  Vector p;
  for (const Vector* source : sources) {
    scales.push_back(InverseRms(source->data(), n, weights_.config.eps));
    p.push_back(Dot(folded.data(), source->data(), n) * scales.back());
  }
  Softmax(p);
  Vector out(n, 0.0);
  for (size_t j = 0; j < sources.size(); ++j) {
    const double scale = Wrong(Mistake::kMixNormalised) ? scales[j] : 1;
    for (size_t i = 0; i < n; ++i) out[i] += p[j] * scale * (*sources[j])[i];
  }
  return out;
}

void ReferenceModel::RunLayer(size_t layer) {
  const Config& c = weights_.config;
  const LayerWeights& w = weights_.layers[layer];
  LayerTrace& trace = trace_[layer];
  const bool boundary = layer % c.residual_block == 0;
  const bool push_first = Wrong(Mistake::kPushBeforeMix);

  if (boundary && push_first) blocks_.push_back(acc_);
  Vector u = blocks_.empty() ? acc_ : Mix(w.attention_mix);
  if (boundary && !push_first) blocks_.push_back(acc_);
  if (boundary && !Wrong(Mistake::kBlockNotReset)) acc_.clear();
  const Vector x = RmsNorm(u, w.input_norm, c.eps);
  trace.attention = c.kda[layer] ? Kda(c, w.kda, wrong_, x, &states_[layer])
                                 : Mla(c, w.mla, wrong_, x, &states_[layer]);
  if (acc_.empty()) acc_.assign(c.hidden, 0.0);
  if (Wrong(Mistake::kMixAddedBack)) acc_ = u;
  AddTo(acc_, trace.attention);

  u = Mix(w.mlp_mix);
  const Vector normed = RmsNorm(u, w.post_norm, c.eps);
  trace.mlp = c.IsMoe(layer) ? Moe(c, w.moe, wrong_, normed, u, &trace.routing)
                             : Mlp(c, w.dense, wrong_, normed);
  AddTo(acc_, trace.mlp);
  trace.acc = acc_;
}

Vector ReferenceModel::Logits() const {
  const Vector u = Wrong(Mistake::kFinalMixOmitted) ? acc_ : Mix(weights_.final_mix);
  const Matrix& head = Wrong(Mistake::kHeadTied) ? weights_.embed : weights_.head;
  if (Wrong(Mistake::kFinalNormOmitted)) return Multiply(head, u);
  return Multiply(head, RmsNorm(u, weights_.final_norm, weights_.config.eps));
}

Vector ReferenceModel::Step(uint32_t id) {
  PENSTOCK_CHECK(id < vocab());
  const double* row = weights_.embed.row(id);
  if (!Wrong(Mistake::kBlocksKeptForNext)) blocks_.clear();
  acc_.assign(row, row + weights_.config.hidden);
  trace_.assign(weights_.config.layers, {});
  for (size_t layer = 0; layer < weights_.config.layers; ++layer) RunLayer(layer);
  ++position_;
  return Logits();
}

}  // namespace penstock::k3::oracle
