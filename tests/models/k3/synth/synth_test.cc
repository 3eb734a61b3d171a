#include "models/k3/synth/synth.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "models/k3/weights/catalogue.h"
#include "tests/io/safetensors/shard.h"
#include "tests/models/k3/oracle/reference_model.h"

namespace penstock::k3 {
namespace {

using io::ExpectRefused;
using io::ScratchDirectory;
namespace fs = std::filesystem;

std::string Contents(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::map<std::string, std::string> AllFiles(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    files[entry.path().filename()] = Contents(entry.path());
  }
  return files;
}

// Odd in every number that may be odd.
SynthOptions Odd(const std::string& out) {
  SynthOptions o;
  o.out = out;
  o.layers = 7;
  o.hidden = 72;
  o.vocab = 300;
  o.kda_heads = 5;
  o.kda_width = 20;
  o.taps = 3;
  o.mla_layers = "2,5,7";
  o.mla_heads = 3;
  o.q_rank = 44;
  o.kv_rank = 20;
  o.nope = 12;
  o.rope = 6;
  o.value = 10;
  o.first_dense = 2;
  o.dense_width = 50;
  o.experts = 11;
  o.top_k = 3;
  o.shared = 1;
  o.latent = 32;
  o.expert_width = 96;
  o.residual_block = 3;
  o.a_log_padding = false;
  return o;
}

void ExpectReadable(const SynthOptions& options, const std::string& what) {
  SCOPED_TRACE(what);
  const auto made = Synthesize(options, {});
  ASSERT_TRUE(made) << made.error().message;
  const auto config = ReadConfig(options.out);
  ASSERT_TRUE(config) << config.error().message;
  std::vector<std::string> notices;
  const auto checkpoint =
      io::Checkpoint::Open(options.out, [&](auto line) { notices.emplace_back(line); });
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_TRUE(notices.empty());
  EXPECT_EQ((*checkpoint)->size(), made->tensors);
  EXPECT_EQ((*checkpoint)->files().size(), made->files);
  uint64_t bytes = 0;
  for (size_t i = 0; i < (*checkpoint)->size(); ++i) {
    bytes += (*checkpoint)->tensor(i).extent.bytes;
  }
  EXPECT_EQ(bytes, made->bytes);
  const auto catalogue = Catalogue::Build(**checkpoint, config->shape);
  ASSERT_TRUE(catalogue) << catalogue.error().message;
}

TEST(Synth, WritesWhatTheReadersRead) {
  const ScratchDirectory scratch;
  SynthOptions plain;
  plain.out = scratch.File("plain");
  ExpectReadable(plain, "defaults");
  const auto config = ReadConfig(plain.out);
  EXPECT_EQ(config->shape.kda,
            (std::vector<bool>{true, true, true, false, true, true, true, false, false}));
  EXPECT_EQ(config->eos, (std::vector<uint32_t>{1794}));
  ExpectReadable(Odd(scratch.File("odd")), "odd");
  SynthOptions other = Odd(scratch.File("other"));
  other.flat = true;
  other.full_rank_gate = false;
  other.decay_bound = 0;
  other.a_log_padding = true;
  other.first_dense = 0;
  other.experts = 12;
  other.groups = 4;
  other.top_groups = 2;
  ExpectReadable(other, "flat, low-rank gate, softplus decay, grouped");
  EXPECT_EQ(ReadConfig(other.out)->shape.decay_bound, 0.0f);
  SynthOptions least;
  least.out = scratch.File("least");
  for (uint64_t* one :
       {&least.layers, &least.hidden, &least.vocab, &least.kda_heads, &least.kda_width, &least.taps,
        &least.mla_heads, &least.q_rank, &least.kv_rank, &least.nope, &least.rope, &least.value,
        &least.dense_width, &least.experts, &least.top_k, &least.shared, &least.residual_block}) {
    *one = 1;
  }
  least.latent = least.expert_width = 32;
  least.first_dense = 0;
  ExpectReadable(least, "the least of everything");
}

// The same tensors, dtypes and shapes as the embedded checkpoint, which is in the released format.
TEST(Synth, HasTheTensorsOfTheEmbeddedCheckpoint) {
  const ScratchDirectory scratch;
  SynthOptions options;
  options.out = scratch.File("s");
  ASSERT_TRUE(Synthesize(options, {}));
  const auto ours = io::Checkpoint::Open(options.out, {});
  const auto tiny = io::Checkpoint::Open(PENSTOCK_SOURCE_DIR "/models/k3/tiny", {});
  ASSERT_TRUE(ours && tiny);
  ASSERT_EQ((*ours)->size(), (*tiny)->size());
  for (size_t i = 0; i < (*ours)->size(); ++i) {
    const io::TensorInfo a = (*ours)->tensor(i), b = (*tiny)->tensor(i);
    ASSERT_EQ(a.name(), b.name());
    EXPECT_EQ(a.dtype, b.dtype) << a.name();
    EXPECT_TRUE(std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end()));
  }
  const auto a = ReadConfig(options.out), b = ReadConfig(PENSTOCK_SOURCE_DIR "/models/k3/tiny");
  const auto text_a = nlohmann::json::parse(a->text_json);
  const auto text_b = nlohmann::json::parse(b->text_json);
  for (const auto& [key, value] : text_b.items()) {
    if (key == "quantization_config") continue;  // The ignore patterns name the vision tower.
    EXPECT_EQ(text_a.value(key, nlohmann::json()), value) << key;
  }
}

TEST(Synth, TheSameSeedGivesTheSameBytes) {
  const ScratchDirectory scratch;
  SynthOptions a = Odd(scratch.File("a")), b = Odd(scratch.File("b")), c = Odd(scratch.File("c"));
  c.seed = 2;
  for (const SynthOptions& options : {a, b, c}) ASSERT_TRUE(Synthesize(options, {}));
  EXPECT_EQ(AllFiles(a.out), AllFiles(b.out));
  const auto first = AllFiles(a.out), other = AllFiles(c.out);
  for (const auto& [name, bytes] : first) {
    if (name.ends_with(".safetensors")) {
      EXPECT_NE(bytes, other.at(name)) << name;
    }
  }
}

TEST(Synth, RefusesADirectoryInUse) {
  const ScratchDirectory scratch;
  scratch.Write("mine", "precious");
  SynthOptions options;
  options.out = scratch.path();
  ExpectRefused(Synthesize(options, {}), {scratch.path(), "empty"});
  EXPECT_EQ(AllFiles(scratch.path()).size(), 1u);
  options.out = scratch.File("mine");
  ExpectRefused(Synthesize(options, {}), {"mine", "file"});
  EXPECT_EQ(Contents(scratch.File("mine")), "precious");
  options.out = "";
  ExpectRefused(Synthesize(options, {}), {"directory"});
}

TEST(Synth, RefusesMoreThanTheDiskHolds) {
  const ScratchDirectory scratch;
  SynthOptions options;
  options.out = scratch.File("s");
  options.hidden = 1 << 20;
  options.dense_width = 1 << 20;
  options.layers = 9000;
  options.first_dense = 9000;
  ExpectRefused(Synthesize(options, {}), {scratch.File("s"), "free"});
  EXPECT_FALSE(fs::exists(options.out));
}

TEST(Synth, StopsWhenTold) {
  const ScratchDirectory scratch;
  SynthOptions options;
  options.out = scratch.File("s");
  uint64_t last = 0, all = 0;
  int calls = 0;
  const auto stopped = Synthesize(options, [&](uint64_t done, uint64_t total) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
    return ++calls < 3;
  });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(calls, 3);
  EXPECT_LT(last, all);
  EXPECT_FALSE(fs::exists(options.out));
  const auto made = Synthesize(options, [&](uint64_t done, uint64_t total) {
    last = done;
    return done <= total;
  });
  ASSERT_TRUE(made);
  EXPECT_EQ(last, made->bytes);
}

// A file-size limit stands in for a full disk: the kernel refuses the bytes in the same place.
TEST(Synth, LeavesNothingBehindWhenTheDiskIsFull) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(fs::create_directory(scratch.File("s")));
  SynthOptions options;
  options.out = scratch.File("s");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit low{500000, before.rlim_max};  // Less than the shards with experts.
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const auto failed = Synthesize(options, {});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kFailed);
  EXPECT_EQ(failed.error().sys, EFBIG);
  EXPECT_NE(failed.error().message.find("model-00002-of-000010.safetensors"), std::string::npos)
      << failed.error().message;
  EXPECT_TRUE(fs::exists(options.out));  // It was there before.
  EXPECT_TRUE(fs::is_empty(options.out));
}

// The numbers stay usable through many layers: judged by the float64 reference, which shares
// nothing with this code.
TEST(NumericSynth, ActivationsAndRoutesAreSane) {
  const ScratchDirectory scratch;
  SynthOptions options;
  options.out = scratch.File("s");
  options.layers = 26;
  options.hidden = 96;
  options.vocab = 500;
  options.residual_block = 12;
  ASSERT_TRUE(Synthesize(options, {}));
  auto model = oracle::ReferenceModel::Load(options.out);
  ASSERT_TRUE(model) << model.error().message;
  std::set<size_t> choices;
  std::vector<std::set<uint32_t>> experts(options.layers);
  for (uint32_t position = 0; position < 12; ++position) {
    const auto logits = model->Step(position * 41 % 500);
    double squares = 0;
    for (const double logit : logits) {
      ASSERT_TRUE(std::isfinite(logit));
      squares += logit * logit;
    }
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(logits.size())), 3, 0.6);
    choices.insert(
        static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    for (size_t l = 0; l < options.layers; ++l) {
      const auto& layer = model->trace()[l];
      experts[l].insert(layer.routing.experts.begin(), layer.routing.experts.end());
      for (const auto* sub : {&layer.attention, &layer.mlp}) {
        double sum = 0;
        for (const double value : *sub) sum += value * value;
        const double rms = std::sqrt(sum / static_cast<double>(sub->size()));
        EXPECT_GT(rms, 0.02);
        EXPECT_LT(rms, 10);
      }
    }
  }
  EXPECT_GE(choices.size(), 10u);  // Other contexts, other tokens.
  // 12 positions choose 4 of 32 experts each: independent choices would reach 26 of them.
  for (size_t l = 1; l < options.layers; ++l) EXPECT_GE(experts[l].size(), 14u) << l;
}

}  // namespace
}  // namespace penstock::k3
