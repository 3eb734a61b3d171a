#pragma once

#include <cstdint>
#include <string>

#include "runtime/result.h"

namespace penstock {

// The block device below the file system of a file, and what it has moved.
struct BlockDevice {
  std::string name;       // "nvme0n1p2", as in /dev.
  std::string disk;       // The whole disk it is a part of: "nvme0n1".
  std::string model;      // "" when the kernel knows none (virtual disks).
  std::string scheduler;  // The active one: "none", "mq-deadline".
  std::string stat_file;  // /sys/dev/block/MAJ:MIN/stat
};

// Fails where there is no single device below (overlay, tmpfs, network, several disks).
Result<BlockDevice> FindBlockDevice(const std::string& path);

// Bytes read from the device since boot, by every process of the machine: subtract two of them on
// a quiet machine.
Result<uint64_t> ReadDeviceBytes(const BlockDevice& device);

}  // namespace penstock
