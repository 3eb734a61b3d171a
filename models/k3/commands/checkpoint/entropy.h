#pragma once

#include <string>

#include "io/options.h"
#include "models/k3/census/entropy/entropy.h"
#include "models/k3/commands/console.h"

namespace penstock::k3 {

struct EntropyOutput {
  bool json = false;
  std::string html;  // A file that must not exist; "" for none.
};

// `penstock inspect DIR --entropy`. Answers the exit code.
int RunEntropy(Console& console, const std::string& directory, EntropyRequest request,
               const EntropyOutput& output, const io::IoOptions& io);

}  // namespace penstock::k3
