#include "models/text/draft/economics.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/check.h"

namespace penstock::text {
namespace {

constexpr uint64_t kWarmUpSteps = 2;  // Without a draft, before the first one.
constexpr double kLeastWeight = 1.0 / 8;
constexpr double kMostSamples = 8;  // What a running mean of that weight is worth.
constexpr double kOutlier = 2;      // Times the mean.
constexpr double kFading = 0.95;    // Per trial: about 20 count.
constexpr double kFirstGuess = 0.5;
constexpr double kWorthwhile = 1.02;
constexpr double kProbeShare = 1.0 / 64;
constexpr double kPlainEvery = 128;  // Times the gain that it costs,
constexpr double kLeastBetween = 8;  // and at least so many.

}  // namespace

DraftEconomics::DraftEconomics(size_t longest, bool always)
    : longest_(longest), always_(always), times_(longest + 1), trials_(longest) {
  figures_.on = always && longest > 0;
}

size_t DraftEconomics::Length() const {
  if (always_ || longest_ == 0) return longest_;
  if (times_[0].samples < kWarmUpSteps) return 0;
  if (figures_.on) return since_plain_ >= plain_every_ ? 0 : figures_.length;
  return probe_budget_ns_ >= probe_cost_ns_ ? figures_.length : 0;
}

void DraftEconomics::Record(size_t drafted, size_t accepted, uint64_t elapsed_ns) {
  PENSTOCK_CHECK(drafted <= longest_ && accepted <= drafted);
  const auto ns = static_cast<double>(elapsed_ns);
  ++figures_.steps;
  figures_.drafted_steps += drafted > 0 ? 1 : 0;
  figures_.drafted += drafted;
  figures_.accepted += accepted;
  tried_ = std::max(tried_, drafted);
  since_plain_ = drafted > 0 ? since_plain_ + 1 : 0;
  probe_budget_ns_ = drafted > 0 ? 0 : probe_budget_ns_ + ns * kProbeShare;
  RecordTime(drafted, ns);
  RecordTrials(drafted, accepted);
  if (longest_ > 0) Decide();
}

void DraftEconomics::RecordTime(size_t drafted, double ns) {
  Times& times = times_[drafted];
  if (times.samples >= kWarmUpSteps) ns = std::min(ns, kOutlier * times.mean_ns);
  ++times.samples;
  const double weight = std::max(1 / static_cast<double>(times.samples), kLeastWeight);
  const double mean_ns = times.mean_ns + weight * (ns - times.mean_ns);
  // What all drafts are compared with must not be a slow start.
  const bool warm_up = drafted == 0 && times.samples > 1 && times.samples <= kWarmUpSteps;
  times.mean_ns = warm_up ? std::min(times.mean_ns, ns) : mean_ns;
}

void DraftEconomics::RecordTrials(size_t drafted, size_t accepted) {
  for (size_t k = 0; k < std::min(accepted + 1, drafted); ++k) {
    trials_[k].right = trials_[k].right * kFading + (k < accepted ? 1 : 0);
    trials_[k].all = trials_[k].all * kFading + 1;
  }
}

// Least squares over the means, each weighing as its samples do.
DraftEconomics::Line DraftEconomics::FitTimes() const {
  double total = 0, x = 0, y = 0;
  for (size_t d = 0; d < times_.size(); ++d) {
    const double w = std::min(static_cast<double>(times_[d].samples), kMostSamples);
    total += w;
    x += w * static_cast<double>(d);
    y += w * times_[d].mean_ns;
  }
  if (total == 0) return {};
  x /= total;
  y /= total;
  double xx = 0, xy = 0;
  for (size_t d = 0; d < times_.size(); ++d) {
    const double w = std::min(static_cast<double>(times_[d].samples), kMostSamples);
    const double from_mean = static_cast<double>(d) - x;
    xx += w * from_mean * from_mean;
    xy += w * from_mean * (times_[d].mean_ns - y);
  }
  // More positions never take less time: what says so is noise.
  const double slope = xx > 0 ? std::max(xy / xx, 0.0) : 0;
  return {y - slope * x, slope};
}

double DraftEconomics::TimeOf(size_t drafted, const Line& line) const {
  const Times& times = times_[drafted];
  const double samples = std::min(static_cast<double>(times.samples), kMostSamples);
  const double on_line = line.at_zero + line.slope * static_cast<double>(drafted);
  return (times.mean_ns * samples + on_line) / (samples + 1);
}

void DraftEconomics::Decide() {
  if (times_[0].samples == 0) return;  // Nothing to compare with.
  const Line line = FitTimes();
  const double plain_ns = TimeOf(0, line);
  figures_.step_ns = plain_ns;
  figures_.length = 0;
  if (plain_ns <= 0) return;
  const size_t most = std::min(longest_, std::max<size_t>(1, 2 * tried_));
  double acceptance = kFirstGuess, all_right = 1, ids = 1;
  for (size_t d = 1; d <= most; ++d) {
    const Trials& trials = trials_[d - 1];
    acceptance = (trials.right + acceptance) / (trials.all + 1);
    all_right *= acceptance;
    ids += all_right;
    const double ratio = std::max(TimeOf(d, line) / plain_ns, 1.0);
    const double gain = ids / ratio;
    if (figures_.length > 0 && gain <= figures_.gain) continue;
    figures_.length = d;
    figures_.time_ratio = ratio;
    figures_.ids_a_step = ids;
    figures_.gain = gain;
  }
  probe_cost_ns_ = (figures_.time_ratio - 1) * plain_ns;
  figures_.position_ns = probe_cost_ns_ / static_cast<double>(figures_.length);
  plain_every_ = static_cast<uint64_t>(
      std::clamp(kPlainEvery * (figures_.gain - 1), kLeastBetween, kPlainEvery));
  figures_.on = always_ || figures_.gain >= kWorthwhile;
}

std::string DraftEconomics::Summary() const {
  const Figures& f = figures_;
  if (longest_ == 0) return "drafting is off: a step takes one position";
  if (f.drafted == 0) return "nothing was drafted: the text did not repeat itself, or was short";
  const std::string share = fmt::format("{} of {} drafted ids were right", f.accepted, f.drafted);
  const std::string best = fmt::format("a draft of {} gives {:.2f} ids a step in {:.2f} x the time",
                                       f.length, f.ids_a_step, f.time_ratio);
  if (always_ && f.length == 0) return fmt::format("drafts as long as asked: {}", share);
  if (always_) return fmt::format("drafts as long as asked: {}; {}", share, best);
  return fmt::format("drafting {}: {}; {}", f.on ? "pays" : "does not pay and is off", share, best);
}

}  // namespace penstock::text
