#pragma once

#include <cstdint>

namespace penstock::k3 {

// Bytes that weights took, by the step they were read for, not by when they were read.
struct Traffic {
  uint64_t payload = 0;
  uint64_t device = 0;  // Rounded out to the alignment of the file.
  uint64_t reads = 0;   // Extents.
  void Add(const Traffic& other) {
    payload += other.payload;
    device += other.device;
    reads += other.reads;
  }
};

}  // namespace penstock::k3
