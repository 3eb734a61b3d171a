#include "tests/models/k3/oracle/attention.h"

#include <algorithm>
#include <cmath>

namespace penstock::k3::oracle {
namespace {

// Causal depthwise convolution; the last tap multiplies the current position. Then SiLU.
Vector Convolve(const Matrix& taps, const Mistakes& wrong, Vector in, std::deque<Vector>* history) {
  if (wrong.contains(Mistake::kSiluBeforeConv)) {
    for (double& value : in) value = Silu(value);
  }
  if (wrong.contains(Mistake::kConvHistoryForgotten)) history->clear();
  history->push_back(in);
  if (history->size() > taps.cols) history->pop_front();
  Vector out(in.size(), 0.0);
  for (size_t back = 0; back < history->size(); ++back) {
    const Vector& then = (*history)[history->size() - 1 - back];
    const size_t tap = wrong.contains(Mistake::kTapsReversed) ? back : taps.cols - 1 - back;
    for (size_t ch = 0; ch < in.size(); ++ch) out[ch] += taps.row(ch)[tap] * then[ch];
  }
  if (!wrong.contains(Mistake::kConvWithoutSilu) && !wrong.contains(Mistake::kSiluBeforeConv)) {
    for (double& value : out) value = Silu(value);
  }
  if (wrong.contains(Mistake::kConvHistoryConvolved)) history->back() = out;
  return out;
}

// x / sqrt(sum x^2 + 1e-6) * scale for each head.
void NormaliseHeads(size_t width, bool mean, double scale, Vector* x) {
  for (size_t at = 0; at < x->size(); at += width) {
    const double* head = x->data() + at;
    double sum = Dot(head, head, width);
    if (mean) sum /= static_cast<double>(width);
    const double factor = scale / std::sqrt(sum + 1e-6);
    for (size_t d = 0; d < width; ++d) (*x)[at + d] *= factor;
  }
}

// alpha: one decay factor for each head and key channel, [P].
Vector DecayFactors(const Config& c, const KdaWeights& w, const Mistakes& wrong, const Vector& x) {
  Vector alpha = Multiply(w.f_b, Multiply(w.f_a, x));
  for (size_t ch = 0; ch < alpha.size(); ++ch) {
    const size_t head = ch / c.kda_width;
    const size_t channel = ch % c.kda_width;
    const bool by_channel = wrong.contains(Mistake::kDecayPerChannel);
    const double rate = std::exp(w.a_log[by_channel ? channel % w.a_log.size() : head]);
    const double bias = w.dt_bias[wrong.contains(Mistake::kDecayBiasPerHead) ? head : ch];
    double scaled = rate * (alpha[ch] + bias);
    if (wrong.contains(Mistake::kDecayBiasAfterScale)) scaled = rate * alpha[ch] + bias;
    const double soft = -rate * Softplus(alpha[ch] + bias);
    double g = c.decay_bound ? *c.decay_bound * Sigmoid(scaled) : soft;
    if (wrong.contains(Mistake::kDecayClamped)) g = std::max(c.decay_bound.value_or(-5), soft);
    alpha[ch] = std::exp(g);
  }
  return alpha;
}

// One head's pointers into the vectors of a position.
struct Head {
  const double* q;
  const double* k;
  const double* v;
  const double* alpha;
  double beta;
};

void Decay(const Head& h, size_t width, const Mistakes& wrong, Vector* memory) {
  const bool columns = wrong.contains(Mistake::kDecayOnValueChannels);
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j < width; ++j) (*memory)[i * width + j] *= h.alpha[columns ? j : i];
  }
}

// sum_i x[i] * S[i][:]
Vector ReadMemory(const double* x, size_t width, const Vector& memory) {
  Vector out(width, 0.0);
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j < width; ++j) out[j] += x[i] * memory[i * width + j];
  }
  return out;
}

// The gated delta rule of one head; the output uses the updated memory.
Vector DeltaRule(const Head& h, size_t width, const Mistakes& wrong, Vector* memory) {
  const bool late = wrong.contains(Mistake::kDecayAfterUpdate);
  Vector predicted = ReadMemory(h.k, width, *memory);
  if (!late) Decay(h, width, wrong, memory);
  if (!wrong.contains(Mistake::kDeltaFromUndecayed)) predicted = ReadMemory(h.k, width, *memory);
  const Vector early = ReadMemory(h.q, width, *memory);
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j < width; ++j) {
      (*memory)[i * width + j] += h.k[i] * h.beta * (h.v[j] - predicted[j]);
    }
  }
  if (late) Decay(h, width, wrong, memory);
  return wrong.contains(Mistake::kReadBeforeUpdate) ? early : ReadMemory(h.q, width, *memory);
}

double OutputGate(double x, const Mistakes& wrong) {
  return wrong.contains(Mistake::kKdaGateSilu) ? Silu(x) : Sigmoid(x);
}

// Per head: RMSNorm over D, then times sigmoid of the gate.
void NormAndGate(const Config& c, const KdaWeights& w, const Mistakes& wrong, const Vector& gate,
                 Vector* o) {
  const bool gate_first = wrong.contains(Mistake::kKdaGateBeforeNorm);
  for (size_t at = 0; at < o->size(); at += c.kda_width) {
    double* head = o->data() + at;
    for (size_t d = 0; d < c.kda_width && gate_first; ++d)
      head[d] *= OutputGate(gate[at + d], wrong);
    const double scale = InverseRms(head, c.kda_width, c.eps);
    for (size_t d = 0; d < c.kda_width; ++d) {
      head[d] *= scale * w.o_norm[d];
      if (!gate_first) head[d] *= OutputGate(gate[at + d], wrong);
    }
  }
}

// All heads' scores of the current query against one earlier position, softmaxed by the caller.
double Score(const Config& c, const Mistakes& wrong, const double* query, const double* key,
             const double* rope) {
  double score = Dot(query, key, c.nope);
  if (!wrong.contains(Mistake::kRopeDropped)) score += Dot(query + c.nope, rope, c.rope);
  const bool short_scale = wrong.contains(Mistake::kMlaScaleWithoutRope);
  return score / std::sqrt(static_cast<double>(short_scale ? c.nope : c.nope + c.rope));
}

// What a model with positions would do to its rope slots.
void Rotate(double* x, size_t width, size_t position) {
  for (size_t i = 0; i + 1 < width; i += 2) {
    const double angle = static_cast<double>(position) *
                         std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(width));
    const double a = x[i];
    const double b = x[i + 1];
    x[i] = a * std::cos(angle) - b * std::sin(angle);
    x[i + 1] = a * std::sin(angle) + b * std::cos(angle);
  }
}

// Appends this position's keys, values and shared rope slots.
void Remember(const Config& c, const MlaWeights& w, const Mistakes& wrong, double latent_eps,
              const Vector& x, AttentionState* state) {
  const Vector joined = Multiply(w.kv_a, x);
  const auto split = joined.begin() + static_cast<std::ptrdiff_t>(c.kv_rank);
  const Vector expanded =
      Multiply(w.kv_b, RmsNorm(Vector(joined.begin(), split), w.kv_norm, latent_eps));
  Vector keys(c.heads * c.nope);
  Vector values(c.heads * c.value);
  const bool rows_split = wrong.contains(Mistake::kKvRowsSplit);
  for (size_t h = 0; h < c.heads; ++h) {
    const size_t pair = h * (c.nope + c.value);
    const size_t key_at = rows_split ? h * c.nope : pair;
    const size_t value_at = rows_split ? c.heads * c.nope + h * c.value : pair + c.nope;
    std::copy_n(expanded.data() + key_at, c.nope, keys.data() + h * c.nope);
    std::copy_n(expanded.data() + value_at, c.value, values.data() + h * c.value);
  }
  state->ropes.emplace_back(split, joined.end());
  if (wrong.contains(Mistake::kRopeRotated)) {
    Rotate(state->ropes.back().data(), c.rope, state->keys.size());
  }
  state->keys.push_back(std::move(keys));
  state->values.push_back(std::move(values));
}

}  // namespace

Vector Kda(const Config& c, const KdaWeights& w, const Mistakes& wrong, const Vector& x,
           AttentionState* state) {
  const size_t width = c.kda_width;
  const bool mean = wrong.contains(Mistake::kMeanNormalisedQk);
  Vector q = Convolve(w.conv_q, wrong, Multiply(w.q, x), &state->history_q);
  Vector k = Convolve(w.conv_k, wrong, Multiply(w.k, x), &state->history_k);
  Vector v = Convolve(w.conv_v, wrong, Multiply(w.v, x), &state->history_v);
  NormaliseHeads(width, mean, 1 / std::sqrt(static_cast<double>(width)), &q);
  NormaliseHeads(width, mean, 1, &k);
  if (wrong.contains(Mistake::kNormalisedV)) NormaliseHeads(width, mean, 1, &v);
  const Vector alpha = DecayFactors(c, w, wrong, x);
  const Vector beta = Multiply(w.b, x);
  state->memory.resize(c.kda_heads, Vector(width * width, 0.0));
  Vector o;
  for (size_t h = 0; h < c.kda_heads; ++h) {
    const size_t at = h * width;
    const Head head{q.data() + at, k.data() + at, v.data() + at, alpha.data() + at,
                    Sigmoid(beta[h])};
    const Vector out = DeltaRule(head, width, wrong, &state->memory[h]);
    o.insert(o.end(), out.begin(), out.end());
  }
  const Vector gate = Multiply(w.g, c.full_rank_gate ? x : Multiply(w.g_a, x));
  NormAndGate(c, w, wrong, gate, &o);
  return Multiply(w.o, o);
}

Vector Mla(const Config& c, const MlaWeights& w, const Mistakes& wrong, const Vector& x,
           AttentionState* state) {
  // The release constructs these two norms without an epsilon, so they have the default.
  const double latent_eps = wrong.contains(Mistake::kLatentNormEps) ? c.eps : 1e-6;
  Vector q = Multiply(w.q_b, RmsNorm(Multiply(w.q_a, x), w.q_norm, latent_eps));
  Remember(c, w, wrong, latent_eps, x, state);
  const size_t positions = state->keys.size();
  Vector o(c.heads * c.value, 0.0);
  for (size_t h = 0; h < c.heads; ++h) {
    double* query = q.data() + h * (c.nope + c.rope);
    if (wrong.contains(Mistake::kRopeRotated)) Rotate(query + c.nope, c.rope, positions - 1);
    Vector p(positions);
    for (size_t s = 0; s < positions; ++s) {
      p[s] = Score(c, wrong, query, state->keys[s].data() + h * c.nope, state->ropes[s].data());
    }
    Softmax(p);
    for (size_t s = 0; s < positions; ++s) {
      const double* value = state->values[s].data() + h * c.value;
      for (size_t d = 0; d < c.value; ++d) o[h * c.value + d] += p[s] * value[d];
    }
  }
  if (!wrong.contains(Mistake::kMlaGateForgotten)) {
    const Vector gate = Multiply(w.g, x);
    for (size_t i = 0; i < o.size(); ++i) o[i] *= Sigmoid(gate[i]);
  }
  return Multiply(w.o, o);
}

}  // namespace penstock::k3::oracle
