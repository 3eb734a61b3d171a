#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/options.h"
#include "models/k3/bench/hooks.h"
#include "models/k3/config/options.h"
#include "models/k3/plan/calibrate.h"
#include "runtime/options/options.h"
#include "runtime/result.h"

namespace penstock::k3 {

struct TokenBenchOptions {
  std::string model;
  uint64_t repetitions = 9;
  uint64_t steps = 2;
  std::string balance = "1,3,0.333";
  std::string predicting;
  size_t calibration_bytes = kCalibrationBytes;  // No option: for tests, which need no true rates.

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model, "Directory of the checkpoint.");
    v("repetitions", c.repetitions, "rounds", 1, 10000, "Rounds in which every arm runs once.");
    v("steps", c.steps, "steps", 1, 1000,
      "Timed steps of an arm in a round, after one that is not.");
    v("balance", c.balance,
      "With --ioengine memory and no --pace: paces at which the device needs so many times as long "
      "as the arithmetic.");
    v("predicting", c.predicting,
      "Compare modes of --predict instead, as \"off,auto\": an engine each, so as many times the "
      "memory.");
  }
};

// One arm of `penstock bench token`. Times are of the wall, for one step.
struct TokenRow {
  std::string arm;  // "compute", "step", "replay", "step, io = 3 x compute"
  double best_ns = 0;
  double median_ns = 0;
  double spread = 0;  // Middle half of the samples over their median.
  double bytes = 0;   // Payload of a step.
  double pace = 0;    // Bytes a second of the paced device; 0: none.
  double io_ns = 0;   // What the device needs at that pace; 0 without one.
  // max(io, compute) over the step, both of the same round: 1 is perfect.
  std::optional<double> overlap_best;
  std::optional<double> overlap_median;
  // The step over the replay of its reads, pair by pair: median and lower 95 % bound of it.
  std::optional<double> replay_ratio;
  std::optional<double> replay_ratio_low;
  // What the plan says of such a step, from rates measured in the same round, and the step over it.
  std::optional<double> plan_ns;
  std::optional<double> plan_ratio;
  // With --predicting, over the first mode: time, pair by pair, and bytes from the device.
  std::optional<double> x_first;
  std::optional<double> bytes_x_first;
};

// What the graph costs: its messages times what one takes with nothing to do.
struct TokenMessages {
  uint64_t a_step = 0;
  double ns = 0;     // CPU time of one, median.
  double share = 0;  // Of the cores' time, while a device of 7 GB/s reads the step's bytes.
};

struct TokenResult {
  std::vector<TokenRow> rows;
  std::optional<TokenMessages> messages;  // Not with --predicting.
  std::string engine;                     // Engine::Describe.
  double cpu_lost = 0;                    // The share of a CPU that neighbours took meanwhile.
};

// Whole steps of a checkpoint, as configured, beside what bounds them, in rotation:
//
//   compute   reads cost nothing (the memory engine without a pace): the arithmetic alone
//   replay    the reads of a step without its arithmetic (plan_replay.h): the device alone
//   step      both together
//
// With --ioengine memory the device is paced: by --pace, or by --balance at multiples of what the
// arithmetic takes, so that its time is known and overlap can be told from bandwidth. Other engines
// have no "compute". A sample starts from an empty state with the same ids, and its first step is
// not timed. kRefused: as Engine::Open; a model that is not given.
//
// With --predicting the arms are modes of --predict, "predict off" and so on, on sequences of the
// same random ids that go on from round to round: gates and caches keep what they learned.
Result<TokenResult> BenchToken(const TokenBenchOptions& options, const PipelineOptions& pipeline,
                               const io::IoOptions& io_options, const BenchHooks& hooks);

std::string TokenTable(const TokenResult& result);
Json TokenJson(const TokenResult& result);  // Schema penstock.bench.token.v1.

}  // namespace penstock::k3
