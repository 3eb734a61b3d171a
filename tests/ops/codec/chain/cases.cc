#include "tests/ops/codec/chain/cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "ops/codec/codec.h"
#include "runtime/check.h"

namespace penstock::ops::chain {
namespace {

// A buffer that ends where nothing may be touched; mapped once, because mapping takes longer than
// all that is tested with it.
class Room {
 public:
  Room() {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const at =
        mmap(nullptr, kBytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PENSTOCK_CHECK(at != MAP_FAILED);
    end_ = static_cast<uint8_t*>(at) + kBytes;
    PENSTOCK_CHECK(mprotect(end_, page, PROT_NONE) == 0);
  }
  // The last so many bytes.
  uint8_t* Last(size_t bytes) const {
    PENSTOCK_CHECK(bytes <= kBytes);
    return end_ - bytes;
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 20;
  uint8_t* end_;
};

// `bytes`, and what may be read behind them.
const uint8_t* Place(const Room& room, const Bytes& bytes) {
  uint8_t* const at = room.Last(bytes.size() + kCodecSlack);
  std::copy(bytes.begin(), bytes.end(), at);
  std::memset(at + bytes.size(), 0xa5, kCodecSlack);
  return at;
}

const uint8_t* PlaceCoded(const Bytes& bytes) {
  static const Room room;
  return Place(room, bytes);
}

const uint8_t* PlaceRest(const Bytes& bytes) {
  static const Room room;
  return Place(room, bytes);
}

// An output, with a margin before it and `shift` bytes behind that must stay.
class Output {
 public:
  Output(size_t bytes, size_t shift) : bytes_(bytes), shift_(shift) {
    static const Room room;
    data_ = room.Last(bytes + shift);
    std::memset(data_ - kMargin, kFill, kMargin + bytes + shift);
  }
  uint8_t* data() const { return data_; }
  void CheckMargins() const {
    for (size_t i = 0; i < kMargin; ++i) PENSTOCK_CHECK((data_ - kMargin)[i] == kFill);
    for (size_t i = 0; i < shift_; ++i) PENSTOCK_CHECK(data_[bytes_ + i] == kFill);
  }

 private:
  static constexpr size_t kMargin = 64;
  static constexpr uint8_t kFill = 0x5a;
  size_t bytes_;
  size_t shift_;
  uint8_t* data_;
};

uint8_t TrainedSymbol(std::mt19937_64& random) {
  const float value = std::normal_distribution<float>(0, 0.02f)(random);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint8_t>(bits >> 23);
}

class PlainEncoder {
 public:
  explicit PlainEncoder(const Shape& shape) : shape_(shape) {}

  void Block(Bytes symbols) {
    bytes.push_back(static_cast<uint8_t>(0x80 | shape_.wide << 4 | shape_.narrow));
    bytes.insert(bytes.end(), shape_.dictionary.begin(), shape_.dictionary.end());
    auto next = shape_.dictionary.begin();
    for (unsigned level = 0; level < shape_.wide + shape_.narrow; ++level) {
      const unsigned own = level < shape_.wide ? 3 : 1;
      const Bytes codes = CodesOf(symbols, Bytes(next, next + own));
      next += own;
      if (level == 0) {
        const auto count = std::count(codes.begin(), codes.end(), own);
        bytes.push_back(static_cast<uint8_t>(count));
        bytes.push_back(static_cast<uint8_t>(count >> 8));
      }
      level == 0 ? FirstLevel(codes, own) : NextLevel(codes, own);
      Bytes escapes;
      for (size_t i = 0; i < symbols.size(); ++i) {
        if (codes[i] == own) escapes.push_back(symbols[i]);
      }
      if (level == 0) escapes = InBitOrder(symbols, codes, own);
      symbols = escapes;
    }
    bytes.insert(bytes.end(), symbols.begin(), symbols.end());
  }

  Bytes bytes;

 private:
  static Bytes CodesOf(const Bytes& symbols, const Bytes& own) {
    Bytes codes;
    for (const uint8_t symbol : symbols) {
      codes.push_back(
          static_cast<uint8_t>(std::find(own.begin(), own.end(), symbol) - own.begin()));
    }
    return codes;
  }
  // Element of the block of each bit of the first level.
  static size_t ElementOf(size_t word, size_t bit) { return 64 * word + bit % 8 * 8 + bit / 8; }

  static Bytes InBitOrder(const Bytes& symbols, const Bytes& codes, unsigned escape) {
    Bytes escapes;
    for (size_t word = 0; 64 * word < symbols.size(); ++word) {
      for (size_t bit = 0; bit < 64; ++bit) {
        const size_t element = ElementOf(word, bit);
        if (element < symbols.size() && codes[element] == escape) {
          escapes.push_back(symbols[element]);
        }
      }
    }
    return escapes;
  }
  void FirstLevel(const Bytes& codes, unsigned own) {
    for (size_t word = 0; 64 * word < codes.size(); ++word) {
      Bytes of_bits(64);
      for (size_t bit = 0; bit < 64; ++bit) {
        const size_t element = ElementOf(word, bit);
        if (element < codes.size()) of_bits[bit] = codes[element];
      }
      Planes(of_bits, own);
    }
  }
  void NextLevel(const Bytes& codes, unsigned own) {
    for (size_t at = 0; at < codes.size(); at += 64) {
      Planes(Bytes(codes.begin() + static_cast<ptrdiff_t>(at),
                   codes.begin() + static_cast<ptrdiff_t>(std::min(at + 64, codes.size()))),
             own);
    }
  }
  void Planes(const Bytes& codes, unsigned own) {
    for (unsigned plane = 0; plane < (own == 3 ? 2 : 1); ++plane) {
      for (size_t at = 0; at < codes.size(); at += 8) {
        unsigned byte = 0;
        for (size_t i = 0; i < 8 && at + i < codes.size(); ++i) {
          byte |= (static_cast<unsigned>(codes[at + i]) >> plane & 1) << i;
        }
        bytes.push_back(static_cast<uint8_t>(byte));
      }
    }
  }

  const Shape& shape_;
};

}  // namespace

std::vector<const Kernels*> KernelsHere() {
  std::vector<const Kernels*> all = {&Scalar()};
  for (const Kernels* kernels : {Avx2(), Avx512()}) {
    if (kernels != nullptr) all.push_back(kernels);
  }
  return all;
}

Bytes DrawBytes(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(n);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

Bytes DrawSymbols(Draw draw, size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return static_cast<uint8_t>(random() % limit); };
  Bytes symbols(n);
  for (size_t i = 0; i < n; ++i) {
    if (draw == Draw::kConstant) symbols[i] = 77;
    if (draw == Draw::kTwo) symbols[i] = below(8) == 0 ? 3 : 251;
    if (draw == Draw::kTrained) symbols[i] = TrainedSymbol(random);
    if (draw == Draw::kFew) symbols[i] = static_cast<uint8_t>(60 + below(11) * 3);
    // Whole words of escapes; the pattern repeats in no size of block.
    if (draw == Draw::kRuns) symbols[i] = static_cast<uint8_t>(100 + i / 331 * 7 % 13);
    if (draw == Draw::kUniform) symbols[i] = below(256);
  }
  return symbols;
}

Bytes EncodeAs(const Shape& shape, const Bytes& symbols) {
  PlainEncoder encoder(shape);
  encoder.bytes.push_back(shape.units);
  const size_t block = shape.units * size_t{1024};
  for (size_t at = 0; at < symbols.size(); at += block) {
    const size_t end = std::min(at + block, symbols.size());
    encoder.Block(Bytes(symbols.begin() + static_cast<ptrdiff_t>(at),
                        symbols.begin() + static_cast<ptrdiff_t>(end)));
  }
  return encoder.bytes;
}

std::optional<Bytes> Symbols(const Kernels& kernels, const Bytes& coded, size_t n) {
  const Output output(n, 0);
  const bool good = kernels.symbols(PlaceCoded(coded), coded.size(), n, output.data());
  output.CheckMargins();
  if (!good) return std::nullopt;
  return Bytes(output.data(), output.data() + n);
}

std::optional<std::vector<uint16_t>> Bf16(const Kernels& kernels, const Bytes& coded,
                                          const Bytes& rest, bool streaming, size_t shift) {
  const size_t n = rest.size();
  const Output output(2 * n, shift);
  const bool good = kernels.bf16(PlaceCoded(coded), coded.size(), PlaceRest(rest), n,
                                 reinterpret_cast<uint16_t*>(output.data()), streaming);
  output.CheckMargins();
  if (!good) return std::nullopt;
  std::vector<uint16_t> elements(n);
  if (n != 0) std::memcpy(elements.data(), output.data(), 2 * n);
  return elements;
}

std::vector<uint16_t> Merged(const Bytes& symbols, const Bytes& rest) {
  std::vector<uint16_t> elements;
  for (size_t i = 0; i < symbols.size(); ++i) {
    elements.push_back(
        static_cast<uint16_t>((rest[i] & 128) << 8 | symbols[i] << 7 | (rest[i] & 127)));
  }
  return elements;
}

}  // namespace penstock::ops::chain
