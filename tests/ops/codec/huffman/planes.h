#pragma once

#include <cstring>
#include <random>
#include <vector>

#include <sys/mman.h>

#include "ops/codec/huffman/format.h"
#include "ops/codec/huffman/huffman.h"
#include "ops/codec/huffman/tables.h"
#include "tests/ops/draw.h"

// Planes of the Huffman tests, and memory that tells of accesses outside of it.
namespace penstock::ops::huffman {

using Bytes = std::vector<uint8_t>;

inline constexpr size_t kSlack = 64;  // Bytes that a decoder may read behind its input.

// Bytes that are followed by `slack` more and then by a page that cannot be read.
class Fenced {
 public:
  explicit Fenced(const Bytes& bytes, size_t slack = kSlack) {
    constexpr size_t kPage = 4096;
    mapped_ = (bytes.size() + slack + kPage - 1) / kPage * kPage + kPage;
    void* const start =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) std::abort();
    start_ = static_cast<uint8_t*>(start);
    uint8_t* const end = start_ + mapped_ - kPage;
    if (mprotect(end, kPage, PROT_NONE) != 0) std::abort();
    data_ = end - slack - bytes.size();
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
    std::memset(data_ + bytes.size(), 0xa5, slack);
  }
  ~Fenced() { munmap(start_, mapped_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }

 private:
  uint8_t* start_;
  uint8_t* data_;
  size_t mapped_;
};

// n elements between guards; `align` bytes behind a 64-byte boundary.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t n, size_t offset = 0) : n_(n), bytes_(n * sizeof(T) + 4 * 64, kGuard) {
    const auto start = reinterpret_cast<uintptr_t>(bytes_.data());
    place_ = bytes_.data() + (64 - start % 64) + 64 + offset;
  }
  T* data() { return reinterpret_cast<T*>(place_); }
  std::vector<T> values() {
    std::vector<T> values(n_);
    if (n_ != 0) std::memcpy(values.data(), place_, n_ * sizeof(T));
    return values;
  }
  bool Untouched() const {
    const uint8_t* const begin = place_;
    const uint8_t* const end = place_ + n_ * sizeof(T);
    for (const uint8_t& byte : bytes_) {
      if ((&byte < begin || &byte >= end) && byte != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr uint8_t kGuard = 0x5c;
  size_t n_;
  Bytes bytes_;
  uint8_t* place_;
};

inline std::vector<const Kernels*> KernelsHere() {
  std::vector<const Kernels*> all = {&Scalar()};
  if (Avx2() != nullptr) all.push_back(Avx2());
  if (Avx512() != nullptr) all.push_back(Avx512());
  return all;
}

struct Counts {
  uint64_t of[256] = {};
};
inline Counts CountsOf(const Bytes& symbols) {
  Counts counts;
  for (const uint8_t symbol : symbols) ++counts.of[symbol];
  return counts;
}
inline Code CodeOf(const Bytes& symbols, unsigned limit) {
  return MakeCode(CountsOf(symbols).of, limit);
}

inline Bytes EncodePlane(const Code& code, const Bytes& symbols) {
  Bytes out(MostBytes(symbols.size()) + 16, 0xee);
  out.resize(Encode(code, symbols.data(), symbols.size(), out.data()));
  return out;
}

// n symbols whose probabilities fall by `ratio` from one to the next, around 120.
inline Bytes Falling(Draw& draw, size_t n, double ratio) {
  std::geometric_distribution<int> rank(1 - ratio);
  Bytes symbols(n);
  for (uint8_t& symbol : symbols) {
    const int r = std::min(rank(draw.engine()), 100);
    symbol = static_cast<uint8_t>(r % 2 == 0 ? 120 + r / 2 : 119 - r / 2);
  }
  return symbols;
}

// Symbols 0..count-1 with Fibonacci's counts, whose unlimited code has a length for each of them.
inline Bytes Fibonacci(Draw& draw, unsigned count) {
  Bytes symbols;
  size_t a = 1;
  size_t b = 1;
  for (unsigned s = 0; s < count; ++s) {
    symbols.insert(symbols.end(), a, static_cast<uint8_t>(s));
    b += a;
    std::swap(a, b);
  }
  std::shuffle(symbols.begin(), symbols.end(), draw.engine());
  return symbols;
}

}  // namespace penstock::ops::huffman
