#include <filesystem>

#include <gtest/gtest.h>

#include "models/k3/synth/synth.h"
#include "tests/io/safetensors/shard.h"

namespace penstock::k3 {
namespace {

using io::ExpectRefused;
using io::ScratchDirectory;
namespace fs = std::filesystem;

TEST(SynthConfig, RefusesAShapeThatNoReaderWouldTake) {
  const ScratchDirectory scratch;
  const auto refused = [&](auto change, const std::vector<std::string>& parts) {
    SynthOptions options;
    options.out = scratch.File("never");
    change(options);
    ExpectRefused(Synthesize(options, {}), parts);
    EXPECT_FALSE(fs::exists(options.out));
  };
  refused([](SynthOptions& o) { o.latent = 40; }, {"routed_expert_hidden_size", "40"});
  refused([](SynthOptions& o) { o.top_k = 33; }, {"num_experts_per_token", "33"});
  refused([](SynthOptions& o) { o.layers = 1 << 19; }, {"num_hidden_layers"});
  refused([](SynthOptions& o) { o.layers = uint64_t{1} << 40; }, {"layers"});
  refused([](SynthOptions& o) { o.vocab = 0; }, {"vocabulary"});
  refused([](SynthOptions& o) { o.kda_heads = o.kda_width = 60000; }, {"num_heads"});
  for (const char* list :
       {"0", "10", "1,1", "1,", ",1", "a", "1;2", "-1", "1 ", "99999999999999999999"}) {
    refused([&](SynthOptions& o) { o.mla_layers = list; }, {"mla-layers", list});
  }
}

TEST(SynthConfig, PlacesTheSpecialTokensBehindTheRanks) {
  const auto end = [](uint64_t vocab, bool flat) {
    SynthOptions options;
    options.vocab = vocab;
    options.flat = flat;
    const auto text = SynthConfig(options);
    EXPECT_TRUE(text);
    const io::ScratchDirectory scratch;
    scratch.Write("config.json", *text);
    return ReadConfig(scratch.path())->eos;
  };
  EXPECT_EQ(end(2048, false), std::vector<uint32_t>{1794});
  EXPECT_EQ(end(163840, true), std::vector<uint32_t>{163586});
  EXPECT_EQ(end(257, false), std::vector<uint32_t>{3});
  EXPECT_EQ(end(100, false), std::vector<uint32_t>{99});
  EXPECT_EQ(end(1, true), std::vector<uint32_t>{0});
}

TEST(SynthConfig, PlacesMlaWhereItIsTold) {
  SynthOptions options;
  options.layers = 5;
  const auto kda = [&](const char* list) {
    options.mla_layers = list;
    return ParseShape(*SynthConfig(options), "c")->kda;
  };
  EXPECT_EQ(kda(""), (std::vector<bool>{true, true, true, false, false}));
  EXPECT_EQ(kda("1,4"), (std::vector<bool>{false, true, true, false, true}));
  EXPECT_EQ(kda("5,4,3,2,1"), std::vector<bool>(5, false));
}

}  // namespace
}  // namespace penstock::k3
