#include "models/k3/synth/measure.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "io/file.h"
#include "models/k3/engine.h"
#include "models/k3/synth/numbers.h"
#include "ops/router.h"

namespace penstock::k3 {
namespace {

Status ReadExactly(const io::File& file, const io::Extent& extent, uint16_t* out) {
  auto* bytes = reinterpret_cast<char*>(out);
  for (uint64_t at = 0; at < extent.bytes;) {
    const ssize_t got =
        ::pread(file.fd, bytes + at, extent.bytes - at, static_cast<off_t>(extent.offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return Failed(fmt::format("{}: reading {} bytes at {} failed: {}", file.path, extent.bytes,
                                extent.offset, got < 0 ? std::strerror(errno) : "it ends before"));
    }
    at += static_cast<uint64_t>(got);
  }
  return {};
}

// Listens to a run and guesses each layer's experts from what the layer before left. Reads the
// router matrices itself: those of the run stream past.
class Recorder : public RouteSink {
 public:
  Recorder(Engine& engine, io::FileSet files, const MeasureProgress& progress)
      : engine_(engine),
        files_(std::move(files)),
        progress_(progress),
        shape_(engine.config().shape),
        before_(shape_.hidden),
        mixed_(shape_.hidden),
        scores_(shape_.experts),
        scratch_(shape_.experts),
        weights_(shape_.top_k),
        router_(shape_.experts * shape_.hidden) {
    record_.experts = shape_.experts;
    record_.top_k = shape_.top_k;
    record_.layers = shape_.moe_layers();
  }

  void Chosen(const Context& context, size_t position) override {
    const uint32_t* chosen = context.act.chosen[position];
    record_.chosen.insert(record_.chosen.end(), chosen, chosen + shape_.top_k);
    const size_t at = record_.guessed.size();
    record_.guessed.resize(at + shape_.top_k, RouteRecord::kNoGuess);
    if (context.layer > 0 && status_)
      status_ = Guess(context, position, record_.guessed.data() + at);
    if (!status_ || (progress_ && !progress_(context.step))) engine_.Cancel();
  }

  const Status& status() const { return status_; }
  RouteRecord Take() { return std::move(record_); }

 private:
  Status Guess(const Context& context, size_t position, uint32_t* ids) {
    const Matrix& router = engine_.catalogue().layer(context.layer).moe->router;
    PENSTOCK_TRY_VOID(ReadExactly(files_[router.extent.file], router.extent, router_.data()));
    const ops::Kernels& kernels = context.kernels;
    const LayerVectors& vectors = context.vectors();
    const std::vector<const float*> sources = SourcesBefore(context, position);
    kernels.residual_mix(sources.data(), sources.size(), vectors.mlp_factor, shape_.hidden,
                         shape_.norm_eps, mixed_.data());
    kernels.rms_norm(mixed_.data(), vectors.post_norm, shape_.hidden, shape_.norm_eps,
                     mixed_.data());
    kernels.matvec_bf16(router_.data(), shape_.experts, shape_.hidden, mixed_.data(), shape_.hidden,
                        1, scores_.data(), shape_.experts);
    kernels.sigmoid(scores_.data(), shape_.experts, scores_.data());
    const ops::RouterConfig config{shape_.experts,    shape_.top_k,       shape_.groups,
                                   shape_.top_groups, shape_.renormalize, shape_.routed_scale};
    ops::Route(config, scores_.data(), vectors.router_bias, scratch_.data(), ids, weights_.data());
    return {};
  }

  // The residual stream before this layer's attention, whose output y has been added to acc. At the
  // first layer of a block acc was empty: what it held before is the newest block.
  std::vector<const float*> SourcesBefore(const Context& context, size_t position) {
    std::vector<const float*> sources;
    for (size_t i = 0; i < context.residual_blocks; ++i) {
      sources.push_back(context.act.blocks[position] + i * shape_.hidden);
    }
    if (context.layer % shape_.residual_block == 0) return sources;
    for (size_t i = 0; i < shape_.hidden; ++i) {
      before_[i] = context.act.acc[position][i] - context.act.y[position][i];
    }
    sources.push_back(before_.data());
    return sources;
  }

  Engine& engine_;
  io::FileSet files_;
  const MeasureProgress& progress_;
  const Shape& shape_;
  std::vector<float> before_;
  std::vector<float> mixed_;
  std::vector<float> scores_;
  std::vector<float> scratch_;
  std::vector<float> weights_;
  std::vector<uint16_t> router_;
  RouteRecord record_;
  Status status_;
};

}  // namespace

Result<RouteRecord> RecordRoutes(const std::string& directory, uint64_t tokens, uint64_t seed,
                                 const MeasureProgress& progress, const Notice& notice) {
  PENSTOCK_TRY(const std::unique_ptr<Engine> engine,
               Engine::Open(directory, tokens, PipelineOptions{}, io::IoOptions{}, notice));
  PENSTOCK_TRY(io::FileSet files,
               io::FileSet::Open(engine->catalogue().files(), io::DirectMode::kNever, notice));
  Recorder recorder(*engine, std::move(files), progress);
  engine->ObserveRoutes(&recorder);
  text::StateRef state = engine->EmptyState();
  for (uint64_t i = 0; i < tokens; ++i) {
    const auto id = static_cast<text::TokenId>(SplitMix(seed + i * kSplitMixStep) %
                                               engine->config().shape.vocab);
    engine->ExpectMore(i + 1 < tokens);
    auto step = engine->Step(state, std::span(&id, 1));
    PENSTOCK_TRY_VOID(recorder.status());
    if (!step) return std::move(step).error();
    state = step->after.back();
  }
  engine->ObserveRoutes(nullptr);
  return recorder.Take();
}

}  // namespace penstock::k3
