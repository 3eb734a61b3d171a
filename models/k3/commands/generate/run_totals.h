#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/k3/step/pipeline.h"
#include "models/text/generate.h"
#include "runtime/options/options.h"

namespace penstock::k3 {

// What the steps of one run took, summed: apart those that only read the prompt, since a person
// asks for tokens per second of the others.
class RunTotals {
 public:
  void Add(const text::StepRecord& step, const StepStats& stats);
  void CountToken() { ++tokens_; }

  uint64_t tokens() const { return tokens_; }
  uint64_t bytes() const;  // Payload of all sources.
  // Of the steps behind the prompt, each of which gives one token and those of its draft that were
  // right; 0 before the first.
  double tokens_per_second() const;
  double bytes_per_token() const;
  double prompt_positions_per_second() const;

  Json ToJson() const;
  // "48 tokens at 12.3/s; read 1.2 GiB: trunk ..., experts ..., head ..., embedding ..."
  std::string Summary() const;
  // Many lines for --stats: where time and bytes went, a step on average.
  std::string Table(uint64_t peak_rss_bytes) const;
  const Figures& figures() const { return figures_; }

 private:
  // Tokens that the steps behind the prompt gave.
  double step_tokens() const { return static_cast<double>(steps_ - prompt_steps_ + accepted_); }
  std::string TokenLines() const;
  std::string StallLines() const;

  uint64_t tokens_ = 0;
  uint64_t steps_ = 0;
  uint64_t prompt_steps_ = 0;
  uint64_t prompt_positions_ = 0;
  uint64_t prompt_ns_ = 0;
  uint64_t prompt_bytes_ = 0;
  uint64_t drafted_ = 0, accepted_ = 0;
  uint64_t ns_ = 0;  // Of all steps.
  uint64_t trunk_bytes_ = 0, expert_bytes_ = 0, head_bytes_ = 0, embed_bytes_ = 0;
  uint64_t device_bytes_ = 0, reads_ = 0;
  uint64_t expert_hits_ = 0, expert_misses_ = 0;
  uint64_t predicted_useful_bytes_ = 0, predicted_wasted_bytes_ = 0;
  uint64_t stopped_by_ring_ = 0, stopped_by_depth_ = 0;
  uint64_t decode_ns_ = 0, decoded_bytes_ = 0;
  std::vector<std::pair<std::string, uint64_t>> stall_ns_;
  Figures figures_;
};

}  // namespace penstock::k3
