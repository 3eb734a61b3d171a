#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/machine/block_device.h"
#include "runtime/options/options.h"

namespace penstock {

// What a result must say about the machine it was measured on. What cannot be found out is empty.
struct MachineFacts {
  std::string cpu;         // Model name.
  std::string cpus;        // The list this process may use.
  std::string kernel;      // Release.
  std::string huge_pages;  // Mode of transparent huge pages: "always", "madvise", "never".
  uint64_t memory_bytes = 0;
  std::optional<double> cgroup_cpus;
  std::optional<uint64_t> cgroup_memory_bytes;
  std::optional<BlockDevice> device;  // Below the path that was asked about.
};

// `path`: the file or folder that is read from; "" leaves the device out.
MachineFacts ReadMachineFacts(const std::string& path);

Json ToJson(const MachineFacts& facts);

}  // namespace penstock
