#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::text {

// How long drafts should be. A step with a draft of d ids takes time(d) and emits one id more than
// it accepts, 1 + sum over k = 1..d of P(the first k are right) on average; the length with the
// most expected ids per second is chosen. Both sides are measured while the run goes on:
//
//   time(d)      a running mean for each d (the newest weighs 1/8 at least), drawn by one
//                measurement's weight towards a straight line through all of them, so that lengths
//                not tried yet have a value too; a sample above twice the mean counts as twice
//   acceptance   of id k given that those before it were right, over the last 20 or so trials; one
//                trial's weight of its predecessor's acceptance, of 1/2 for the first
//
// Lengths not yet tried are reached by doubling. Where no length is at least 2 % better than none,
// drafting is off, and a probe is made when 1/64 of the time spent since the last one would pay for
// it. While it is on, a step without a draft is taken every 128 steps, more often where it costs less
// because drafts gain little, so that what they are compared with stays measured.
//
// Pure arithmetic on what Record is told: no clock. Threads: one at a time.
class DraftEconomics {
 public:
  // Drafts of at most `longest` ids, always that many when `always`.
  explicit DraftEconomics(size_t longest, bool always = false);

  // Ids to draft for the next step; 0: none.
  size_t Length() const;
  // A step has taken one id and `drafted` (up to `longest`) more, of which it accepted the first
  // `accepted`, in `elapsed_ns`. Steps without a draft count too; those that read a prompt do not.
  void Record(size_t drafted, size_t accepted, uint64_t elapsed_ns);

  struct Figures {
    uint64_t steps = 0, drafted_steps = 0, drafted = 0, accepted = 0;
    bool on = false;  // Drafts are asked for beyond probes.
    size_t length =
        0;  // The best one from 1 on; 0 when none is possible or no step without a draft was measured.
    double step_ns = 0;      // Without a draft.
    double time_ratio = 1;   // Of a step with a draft of `length` to one without.
    double ids_a_step = 1;   // Expected with it.
    double gain = 1;         // ids_a_step / time_ratio.
    double position_ns = 0;  // What one more position costs on average up to `length`.
  };
  const Figures& figures() const { return figures_; }
  // One sentence for a person: whether drafting pays, with its numbers.
  std::string Summary() const;

 private:
  struct Times {
    double mean_ns = 0;
    uint64_t samples = 0;
  };
  struct Trials {
    double right = 0, all = 0;  // Fading.
  };
  struct Line {
    double at_zero = 0, slope = 0;
  };
  void RecordTime(size_t drafted, double ns);
  void RecordTrials(size_t drafted, size_t accepted);
  Line FitTimes() const;
  double TimeOf(size_t drafted, const Line& line) const;
  void Decide();

  size_t longest_;
  bool always_;
  size_t tried_ = 0;            // The longest draft so far.
  uint64_t since_plain_ = 0;    // Steps since the last one without a draft,
  uint64_t plain_every_ = 128;  // and how many there may be.
  double probe_budget_ns_ = 0;  // May be spent on a probe.
  double probe_cost_ns_ = 0;    // Of a draft of the best length.
  std::vector<Times> times_;    // [longest + 1]
  std::vector<Trials> trials_;  // [longest]
  Figures figures_;
};

}  // namespace penstock::text
