#include "models/k3/plan/predict.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/check.h"

namespace penstock::k3 {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr size_t kSteps = 3;  // Two of them to get into the steady state.

class Simulation {
 public:
  explicit Simulation(const StepModel& model)
      : m_(model), count_(model.pieces.size()), arrival_(count_ * kSteps, 0) {
    for (const StepModel::Piece& piece : m_.pieces) streamed_ += piece.read_bytes != 0;
  }

  Prediction Run() {
    SkipPinned();
    Mark begin;
    for (size_t step = 0; step < kSteps; ++step) {
      begin = Now();
      BeginStep();
      for (size_t i = 0; i < count_; ++i) Compute(step * count_ + i);
      FinishExperts();
    }
    return Between(begin, Now());
  }

 private:
  struct Mark {
    double time = 0, device = 0, compute = 0, experts = 0, trunk = 0, embed = 0;
  };
  Mark Now() const {
    return {clock_, device_busy_, compute_busy_, expert_wait_, trunk_wait_, embed_wait_};
  }

  static Prediction Between(const Mark& a, const Mark& b) {
    Prediction out;
    out.ns = b.time - a.time;
    out.device_ns = b.device - a.device;
    out.compute_ns = b.compute - a.compute;
    out.expert_wait_ns = b.experts - a.experts;
    out.trunk_wait_ns = b.trunk - a.trunk;
    out.embed_wait_ns = b.embed - a.embed;
    const double busiest = std::max(out.device_ns, out.compute_ns);
    if (busiest < 0.9 * out.ns && out.expert_wait_ns > out.ns - busiest - out.expert_wait_ns) {
      out.bound = StepBound::kExpertWait;
    } else {
      out.bound = out.device_ns >= out.compute_ns ? StepBound::kDevice : StepBound::kCompute;
    }
    return out;
  }

  const StepModel::Piece& At(size_t n) const { return m_.pieces[n % count_]; }

  // --- the device ---

  // Serves a read that is submitted at `time` after all that were submitted before it.
  double Serve(double time, double bytes) {
    const double begin = std::max(device_free_, time + m_.device_latency_ns);
    const double ns = bytes / m_.device_rate * 1e9;
    device_free_ = begin + ns;
    device_busy_ += ns;
    return device_free_;
  }

  // When the next read of the pass can be submitted, as far as is known at the clock.
  double NextSubmission() const {
    if (next_ == arrival_.size()) return kNever;
    const StepModel::Piece& piece = At(next_);
    double time = 0;
    if (offset_ == 0) {  // Admission, and since when there has been room.
      if (used_ + piece.ring_bytes > m_.ring_bytes && used_ != 0) return kNever;
      if (ahead_ >= streamed_) return kNever;  // The ring holds one pass at most.
      if (m_.depth != 0 && LayerOf(next_) >= LayerOf(computing_) + m_.depth) return kNever;
      time = room_since_;
    }
    const double bytes = static_cast<double>(NextBytes());
    const double window = std::max(static_cast<double>(m_.window_bytes), 2 * bytes);
    return std::max(time, device_free_ - (window - bytes) / m_.device_rate * 1e9);
  }
  uint64_t NextBytes() const { return std::min(m_.read_bytes, At(next_).read_bytes - offset_); }
  size_t LayerOf(size_t n) const {
    return n / count_ * (m_.pieces.back().layer + 1) + At(std::min(n, arrival_.size() - 1)).layer;
  }

  void Submit(double time) {
    const StepModel::Piece& piece = At(next_);
    if (offset_ == 0) {
      used_ += piece.ring_bytes;
      ++ahead_;
    }
    const uint64_t bytes = NextBytes();
    arrival_[next_] = Serve(time, static_cast<double>(bytes));
    offset_ += bytes;
    if (offset_ < piece.read_bytes) return;
    offset_ = 0;
    ++next_;
    SkipPinned();
  }
  void SkipPinned() {
    while (next_ < arrival_.size() && At(next_).read_bytes == 0) ++next_;
  }

  // Lets the device go on until `time`.
  void RunDevice(double time) {
    for (double next = NextSubmission(); next <= time; next = NextSubmission()) Submit(next);
  }

  // When piece n is in memory; lets the device run until that is known.
  double Arrival(size_t n) {
    while (n >= next_) {
      const double next = NextSubmission();
      PENSTOCK_CHECK(next < kNever);  // With an empty ring everything is admitted.
      Submit(next);
    }
    return arrival_[n];
  }

  // --- the cores ---

  void Work(double ns) {
    compute_busy_ += ns;
    clock_ += ns;
  }

  void BeginStep() {
    Work(m_.step_ns);
    if (m_.embed_bytes == 0) return;
    RunDevice(clock_);
    const double there = Serve(clock_, static_cast<double>(m_.embed_bytes));
    embed_wait_ += there - clock_;
    clock_ = there;
  }

  void Compute(size_t n) {
    const StepModel::Piece& piece = At(n);
    computing_ = n;
    if (m_.depth != 0) room_since_ = std::max(room_since_, clock_);
    if (piece.after_experts) FinishExperts();
    Work(piece.serial_ns);
    if (piece.read_bytes != 0) WaitFor(Arrival(n));
    Work(piece.compute_ns);
    RunDevice(clock_);
    if (piece.read_bytes != 0) {
      used_ -= piece.ring_bytes;
      --ahead_;
      room_since_ = clock_;
    }
    if (piece.chooses_experts) DemandExperts();
    if (piece.feeds_experts) fed_ = true;
  }

  // The cores have nothing to do but experts that come meanwhile.
  void WaitFor(double time) {
    while (fed_ && !experts_.empty() && clock_ < time) {
      const double begin = std::max(clock_, experts_.front());
      if (begin >= time) break;
      trunk_wait_ += begin - clock_;
      clock_ = begin;
      ApplyExpert();
    }
    trunk_wait_ += std::max(0.0, time - clock_);
    clock_ = std::max(clock_, time);
  }

  void DemandExperts() {
    const double missed = m_.chosen_experts * (1 - m_.expert_hits) + missed_rest_;
    const auto misses = static_cast<size_t>(missed + 1e-9);
    missed_rest_ = missed - static_cast<double>(misses);
    const auto chosen = static_cast<size_t>(std::lround(m_.chosen_experts));
    for (size_t i = misses; i < chosen; ++i) experts_.push_back(clock_);
    for (size_t i = 0; i < misses; ++i) {
      experts_.push_back(Serve(clock_, static_cast<double>(m_.expert_bytes)));
    }
    fed_ = false;
    last_expert_ = 0;
  }

  void ApplyExpert() {
    last_expert_ = std::max(last_expert_, clock_ + m_.expert_ns);
    Work(m_.expert_ns / m_.experts_abreast);
    experts_.erase(experts_.begin());
  }

  // Applies all that are still to come, and waits for the one that takes longest.
  void FinishExperts() {
    while (!experts_.empty()) {
      const double begin = std::max(clock_, experts_.front());
      RunDevice(begin);
      expert_wait_ += begin - clock_;
      clock_ = begin;
      ApplyExpert();
    }
    Work(std::max(0.0, last_expert_ - clock_));  // Of one core; the others have nothing to do.
    last_expert_ = 0;
  }

  const StepModel& m_;
  const size_t count_;
  size_t streamed_ = 0;  // Pieces of a step that are read.

  std::vector<double> arrival_;  // [pieces of all steps]
  size_t next_ = 0;              // The piece whose read is next,
  uint64_t offset_ = 0;          // and what of it is submitted.
  uint64_t used_ = 0;            // Bytes of the ring,
  size_t ahead_ = 0;             // and the pieces that hold them.
  double room_since_ = 0;        // When the ring last got room.
  double device_free_ = 0;       // All that is submitted is done.

  size_t computing_ = 0;
  double clock_ = 0;             // Of the cores.
  std::vector<double> experts_;  // When those of this layer arrive that are not yet applied.
  bool fed_ = false;             // They have their input.
  double last_expert_ = 0;       // When the slowest one that was begun ends, on its core.
  double missed_rest_ = 0;       // The part of an expert that misses on average.

  double device_busy_ = 0, compute_busy_ = 0;
  double expert_wait_ = 0, trunk_wait_ = 0, embed_wait_ = 0;
};

}  // namespace

std::string_view BoundName(StepBound bound) {
  switch (bound) {
    case StepBound::kDevice:
      return "device";
    case StepBound::kCompute:
      return "compute";
    case StepBound::kExpertWait:
      return "expert wait";
  }
  return "";
}

Prediction PredictStep(const StepModel& model) {
  PENSTOCK_CHECK(!model.pieces.empty() && model.device_rate > 0 && model.read_bytes > 0);
  return Simulation(model).Run();
}

}  // namespace penstock::k3
