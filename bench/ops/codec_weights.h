#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// What the benchmarks of codecs decode.
namespace penstock::bench {

// bf16: rows of 7168 normal weights whose scales are log-normal around 0.02; a quarter of the rows
// has Student's t of five degrees.
std::vector<uint16_t> DrawnWeights(size_t n);

// Bytes on 2 MiB pages where the machine gives them, written once; kept for the life of the process.
uint8_t* LargePages(size_t bytes);

}  // namespace penstock::bench
