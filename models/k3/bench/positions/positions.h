#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/options.h"
#include "models/k3/bench/hooks.h"
#include "models/k3/config/options.h"
#include "models/text/draft/drafting.h"
#include "runtime/options/options.h"
#include "runtime/result.h"

namespace penstock::k3 {

struct PositionsBenchOptions {
  std::string model;
  uint64_t repetitions = 9;
  std::string texts = "repeating,random";
  uint64_t tokens = 24;
  uint64_t prompt = 256;
  std::optional<size_t> prefill_chunk = std::nullopt;  // None: from memory and shapes.
  uint64_t steps = 2;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model, "Directory of the checkpoint.");
    v("repetitions", c.repetitions, "rounds", 1, 10000, "Rounds in which every arm runs once.");
    v("texts", c.texts,
      "What is generated with drafts and without: repeating, a list behind itself; random; "
      "misleading, of few ids, so that drafts are mostly wrong.");
    v("tokens", c.tokens, "tokens", 3, 100000, "Generated in a run, behind a prompt of as many.");
    v("prompt", c.prompt, "positions", 1, 1000000, "Of the prompt that is read in chunks.");
    v("prefill-chunk", c.prefill_chunk, "positions", size_t{1}, size_t{1000000},
      "Positions of the prompt that one step reads at most; auto: from memory and shapes.");
    v("steps", c.steps, "steps", 1, 1000,
      "Timed steps of one position in a round, after one that is not.");
  }
};

// One arm. Rates are positions a second: of the tokens generated, or of the prompt.
struct PositionsRow {
  std::string arm;  // "repeating, drafts", "repeating, none", "prompt in chunks", "serial"
  double best = 0;
  double median = 0;
  double spread = 0;  // Middle half of the times over their median.
  // Over the arm beside it, without drafts or serial, pair by pair.
  std::optional<double> ratio, ratio_low, ratio_high;  // Median and the quartiles.
  uint64_t drafted = 0;                                // In a round,
  uint64_t accepted = 0;
  double bytes = 0;             // payload of a position, as used,
  uint64_t wasted = 0;          // and of all rounds what predictions read for nothing.
  std::optional<double> bound;  // Positions a second that the pace allows for these bytes.
};

// The prompt's chunks.
struct ChunkFigures {
  uint64_t positions = 0;       // The most of a step.
  uint64_t chunks = 0;          // Of the prompt.
  uint64_t unique_experts = 0;  // Summed over chunks and layers,
  uint64_t found = 0;           // of them in the cache,
  uint64_t expert_bytes = 0;    // and what was read: equal to the others times one expert's size.
  uint64_t one_expert = 0;
};

struct PositionsResult {
  std::vector<PositionsRow> rows;
  ChunkFigures chunks;
  std::string engine;  // Engine::Describe.
  double cpu_lost = 0;
};

// What steps of several positions gain, in one engine, in rotation: texts of given ids generated
// with drafts and without, and a prompt read in chunks beside steps of one position. The device may
// be paced (--pace); with little memory (--memory, --pin, --expert-cache) everything streams.
//
// kUnsound: a run whose logits differ by a bit from those of the run before with the same ids; a
// chunk that read other experts than those its positions chose and that were not in the cache, each
// once. kRefused: as Engine::Open; a model that is not given; texts that there are not.
Result<PositionsResult> BenchPositions(const PositionsBenchOptions& options,
                                       const text::DraftOptions& draft,
                                       const PipelineOptions& pipeline,
                                       const io::IoOptions& io_options, const BenchHooks& hooks);

std::string PositionsTable(const PositionsResult& result);
Json PositionsJson(const PositionsResult& result);  // Schema penstock.bench.positions.v1.

}  // namespace penstock::k3
