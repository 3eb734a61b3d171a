#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace penstock::k3 {

// A way to let fio read a file in order, directly and by io_uring.
struct FioConfig {
  std::string name;                    // "fio 4M qd16 fixed"
  std::vector<std::string> arguments;  // Besides those of every run.
};

// Those that came out best on different machines.
std::span<const FioConfig> FioConfigs();

struct FioCost {
  uint64_t bytes = 0;
  double bytes_per_second = 0;
  double cpu_seconds = 0;  // Of the job, without fio's own start.
};

// What `fio --version` prints ("fio-3.33"). Fails where there is none.
Result<std::string> FioVersion();

// Lets fio read `bytes` of the file from `offset` on. Its buffers ask for 2 MiB pages, as ours do.
Result<FioCost> RunFio(const FioConfig& config, const std::string& file, uint64_t offset,
                       uint64_t bytes);

// The cost of the only job in fio's JSON.
Result<FioCost> ParseFio(std::string_view json);

}  // namespace penstock::k3
