#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/k3/pack/options.h"

namespace penstock::k3 {

// Writes a safetensors file of some tensors of each dtype, of odd lengths and none; answers its bytes.
inline std::string WriteMixedFile(const std::string& path, unsigned seed, size_t elements) {
  struct Kind {
    const char* dtype;
    size_t width;
  };
  const Kind kinds[] = {{"BF16", 2}, {"F16", 2}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F32", 4},
                        {"I64", 8},  {"U8", 1},  {"BF16", 2},    {"F32", 4}};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02f);
  std::string header = "{";
  std::string data;
  size_t number = 0;
  for (const Kind& kind : kinds) {
    const size_t count = number == 7 ? 0 : elements + 3 * number + (number == 8 ? 200000 : 0);
    header +=
        fmt::format("{}\"tensor.{}\":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                    number == 0 ? "" : ",", number, kind.dtype, count, data.size(),
                    data.size() + count * kind.width);
    for (size_t i = 0; i < count; ++i) {
      const float value = normal(random);
      uint32_t bits = 0;
      static_assert(sizeof(bits) == sizeof(value));
      std::memcpy(&bits, &value, 4);
      const uint64_t wide = (uint64_t{random()} << 32) | bits;
      // The high bytes of floats are where their exponents are.
      for (size_t b = 0; b < kind.width; ++b) {
        const size_t shift = kind.width >= 4 ? 8 * b : 32 - 8 * kind.width + 8 * b;
        data.push_back(static_cast<char>(wide >> shift));
      }
    }
    ++number;
  }
  header += "}";
  while (header.size() % 8 != 0) header += ' ';
  std::string bytes(8, '\0');
  for (size_t b = 0; b < 8; ++b) bytes[b] = static_cast<char>(header.size() >> (8 * b));
  bytes += header + data;
  std::ofstream(path, std::ios::binary) << bytes;
  return bytes;
}

// What packs `file` into `out` in stripes small enough for several of them.
inline PackOptions OptionsForFile(const std::string& file, const std::string& out) {
  PackOptions options;
  options.tensor_file = file;
  options.out = out;
  options.stripe.bytes = kMiB;
  return options;
}

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace penstock::k3
