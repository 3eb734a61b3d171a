// Every tuning option may change time only: logits bytes are compared over settings drawn at
// random.
#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/engine.h"
#include "models/k3/synth/preset.h"
#include "models/k3/synth/synth.h"
#include "ops/isa.h"
#include "ops/kernels/kernels.h"
#include "runtime/cpu/affinity.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

constexpr size_t kIdentitySteps = 5;
#if defined(__SANITIZE_THREAD__)
constexpr int kRuns = 24;  // Each takes twenty times as long.
#else
constexpr int kRuns = 60;
#endif

// The logits of the first steps of a fixed text, as bytes.
std::vector<std::byte> LogitsOf(const std::string& model, const PipelineOptions& options,
                                const io::IoOptions& io_options, const std::string& description) {
  auto engine = Engine::Open(model, kIdentitySteps, options, io_options, nullptr);
  EXPECT_TRUE(engine.has_value()) << description << ": " << engine.error().message;
  if (!engine) return {};
  std::vector<std::byte> bytes;
  text::StateRef state = (*engine)->EmptyState();
  std::vector<text::TokenId> ids(kIdentitySteps);
  for (uint32_t i = 0; i < kIdentitySteps; ++i) ids[i] = 301 + 17 * i;
  for (size_t done = 0; done < kIdentitySteps;) {
    const size_t count = std::min<size_t>(options.positions, kIdentitySteps - done);
    (*engine)->ExpectMore(done + count < kIdentitySteps);
    auto step = (*engine)->Step(state, std::span(ids).subspan(done, count));
    done += count;
    EXPECT_TRUE(step.has_value()) << description << ": " << step.error().message;
    if (!step) return {};
    state = step->after.back();
    const auto row = std::as_bytes(step->logits);
    bytes.insert(bytes.end(), row.begin(), row.end());
  }
  return bytes;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  template <class T>
  T Of(std::initializer_list<T> choices) {
    return choices.begin()[Below(choices.size())];
  }
  bool Coin() { return Below(2) == 0; }

 private:
  std::mt19937 random_;
};

struct Setting {
  PipelineOptions pipeline;
  io::IoOptions io;
  std::string Text() const {
    std::ostringstream out;
    out << "ring " << pipeline.ring.bytes << " extent " << pipeline.extent.bytes << " cache "
        << pipeline.expert_cache.bytes << " pack " << pipeline.pack << " decode " << pipeline.decode
        << " pin-format " << pipeline.pin_format << " check " << pipeline.check << " cpus-decode "
        << pipeline.cpus_decode << " depth " << pipeline.depth << " pin " << pipeline.pin
        << " positions " << pipeline.positions << " threads " << pipeline.threads << " cpus "
        << pipeline.cpus_compute << " isa " << pipeline.isa << " predict " << pipeline.predict
        << " engine " << io.ioengine << " iodepth " << io.iodepth << " bs " << io.bs.bytes
        << " direct " << io.direct << " pace " << io.pace << " fault " << io.fault;
    return out.str();
  }
};

// Where the weights of the trunk come from, and the smallest ring for it.
struct Trunk {
  std::string pack;  // Empty: the checkpoint.
  uint64_t least_ring = 0;
};

void DrawDecoding(Draw& draw, const CpuSet& cpus, PipelineOptions& pipeline) {
  pipeline.decode = draw.Of<const char*>({"auto", "node", "fused"});
  pipeline.pin_format = draw.Of<const char*>({"auto", "raw", "packed"});
  pipeline.check = draw.Of<const char*>({"stored", "full"});
  if (draw.Below(3) == 0) {
    pipeline.cpus_decode = FormatCpuList({{cpus.cpus[draw.Below(cpus.size())]}});
  }
}

Setting DrawSetting(Draw& draw, const Trunk& trunk, uint64_t slot_bytes, const CpuSet& cpus) {
  const uint64_t least_ring = trunk.least_ring;
  Setting setting;
  PipelineOptions& pipeline = setting.pipeline;
  pipeline.pack = trunk.pack;
  if (!trunk.pack.empty()) DrawDecoding(draw, cpus, pipeline);
  pipeline.ring.bytes = draw.Coin() ? least_ring : least_ring + draw.Below(4 << 20);
  pipeline.expert_cache.bytes = draw.Coin() ? slot_bytes : slot_bytes * (1 + draw.Below(300));
  pipeline.depth = draw.Of<uint64_t>({0, 0, 1, 2, 5});
  pipeline.pin = draw.Of<const char*>({"0", "0", "auto", "1", "4", "10", "1M", "20M"});
  pipeline.positions = draw.Of<uint64_t>({1, 1, 2, 3, 5});
  pipeline.threads = draw.Of<uint64_t>({0, 1, 2, 3, 7});
  if (draw.Below(3) == 0) {
    pipeline.cpus_compute = FormatCpuList({{cpus.cpus[draw.Below(cpus.size())]}});
  }
  pipeline.predict = draw.Of<const char*>({"auto", "off", "next", "previous", "both"});
  const auto kernels = ops::KernelsHere();
  pipeline.isa = kernels[draw.Below(kernels.size())]->name;
  io::IoOptions& io = setting.io;
  io.ioengine = draw.Of<const char*>({"auto", "io_uring", "pread", "memory"});
  io.iodepth = draw.Of<uint64_t>({0, 1, 2, 32});
  io.bs.bytes = draw.Of<uint64_t>({4 << 10, 64 << 10, 4 << 20});
  io.direct = draw.Of<const char*>({"auto", "0"});
  io.pace = draw.Of<const char*>({"", "", "400M", "1G,200us"});
  io.fault = draw.Of<const char*>({"", "", "short@every=3", "delay=300us@every=5", "reorder=500us",
                                   "eintr@every=7,eagain@every=11", "short@every=2,reorder=1ms"});
  return setting;
}

bool IoUringWorks() {
  io::IoOptions io_options;
  io_options.ioengine = "io_uring";
  return Engine::Open(kTiny, 1, {}, io_options, nullptr).has_value();
}

// The smallest ring and the bytes of an expert. Sizes are rounded out to the alignment of the files,
// which is coarser through the page cache.
void Measure(const std::string& model, Trunk& trunk, uint64_t& slot_bytes) {
  PipelineOptions options;
  options.pin = "0";
  options.pack = trunk.pack;
  io::IoOptions buffered;
  buffered.direct = "0";
  const auto engine = Engine::Open(model, 1, options, buffered, nullptr);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  trunk.least_ring = (*engine)->plan().largest_extent;
  slot_bytes = (*engine)->plan().slot_bytes;
}

void ExpectSameBits(const std::string& model, const std::vector<Trunk>& trunks, uint64_t slot_bytes,
                    int runs, Draw& draw) {
  PipelineOptions serial;
  serial.positions = 1;
  const std::vector<std::byte> expected = LogitsOf(model, serial, {}, "one at a time");
  ASSERT_FALSE(expected.empty());
  const CpuSet cpus = *AllowedCpus();
  const bool uring = IoUringWorks();
  for (int run = 0; run < runs; ++run) {
    Setting setting = DrawSetting(draw, trunks[draw.Below(trunks.size())], slot_bytes, cpus);
    if (!uring && setting.io.ioengine == "io_uring") setting.io.ioengine = "pread";
    const std::string text = "run " + std::to_string(run) + ": " + setting.Text();
    const std::vector<std::byte> got = LogitsOf(model, setting.pipeline, setting.io, text);
    ASSERT_EQ(got.size(), expected.size()) << text;
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), expected.size()), 0) << text;
  }
}

TEST(NumericIdentity, LogitsBytesDoNotDependOnAnySetting) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Draw draw(seed);
  const PackFolder folder;
  std::vector<Trunk> trunks(1);
  for (const char* codec : {"chain", "huffman", "raw"}) {
    trunks.push_back({folder.PackTiny(codec, draw.Of<uint64_t>({kMiB, 3 * kMiB, 64 * kMiB}))});
  }
  uint64_t slot_bytes = 0;
  for (Trunk& trunk : trunks) Measure(kTiny, trunk, slot_bytes);
  ExpectSameBits(kTiny, trunks, slot_bytes, kRuns, draw);
}

// The proportions of the release: a third of the experts for each token, more latent heads than
// hidden channels feed, routes that repeat, so that caches and predictors have something to do.
TEST(NumericIdentity, NorDoTheyAtTheProportionsOfTheRelease) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Draw draw(seed);
  const PackFolder folder;
  SynthOptions options = PresetOptions("k3-slice");
  options.out = folder.File("slice");
  options.layers = 5;
  options.vocab = 1024;
  options.hidden = 448;
  options.kda_heads = options.mla_heads = 6;
  options.q_rank = 96;
  options.kv_rank = 64;
  options.nope = options.value = 32;
  options.rope = 16;
  options.dense_width = 512;
  options.latent = 224;
  options.expert_width = 192;
  ASSERT_TRUE(Synthesize(options, {}).has_value());
  std::vector<Trunk> trunks(1);
  uint64_t slot_bytes = 0;
  Measure(options.out, trunks[0], slot_bytes);
  ExpectSameBits(options.out, trunks, slot_bytes, kRuns / 3, draw);
}

}  // namespace
}  // namespace penstock::k3
