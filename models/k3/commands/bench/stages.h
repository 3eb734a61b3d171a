#pragma once

#include <string>

#include "models/k3/bench/hooks.h"
#include "models/k3/commands/console.h"

namespace penstock::k3 {

// A progress line for each stage of a benchmark.
class Stages {
 public:
  explicit Stages(Console& console) : console_(console) {}
  ~Stages() { console_.EndProgress(); }

  void Show(const BenchProgress& progress) {
    if (progress.stage != stage_) {
      console_.EndProgress();
      stage_ = progress.stage;
      console_.Say(stage_);
      console_.StartProgress(std::string(progress.unit), progress.total);
    }
    console_.Advance(progress.done, "");
  }

 private:
  Console& console_;
  std::string stage_;
};

}  // namespace penstock::k3
