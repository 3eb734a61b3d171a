#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/codec/element.h"

namespace penstock::ops {

// Lossless codecs of weights. A stripe of elements is cut into chunks of a fixed number of elements
// (the last may be shorter), each decodable alone; what the chunks of a stripe share is its code (the
// Huffman lengths; nothing for the others). A coded chunk is the rest of its elements (Element),
// then their exponents as the codec writes them; io/pack.h lays the bytes out.
// The numbers are part of the pack format.
enum class Codec : uint8_t {
  kRaw = 0,
  kChain = 1,  // Bit-sliced escape chain (ops/codec/chain/chain.h).
  kHuffman =
      2,  // Canonical Huffman code in four interleaved streams (ops/codec/huffman/huffman.h).
};

// A decoder may read, and never uses, so many bytes behind a chunk.
inline constexpr size_t kCodecSlack = 64;

// Where decoded elements go: to be used at once, or past the caches because they will not be.
enum class Store : uint8_t { kCached, kStreaming };

// The decoders of one instruction set (ops/codec/choose.h).
struct CodecKernels;

// Encodes one stripe. Threads: one object is used by one thread at a time.
class ChunkEncoder {
 public:
  ChunkEncoder(Codec codec, Element element);
  ~ChunkEncoder();

  // Begins a stripe of these elements: makes the code that its chunks share.
  void Begin(std::span<const std::byte> raw);
  std::span<const std::byte> code() const { return code_; }

  // The most bytes a chunk of so many elements can take.
  size_t MostBytes(size_t elements) const;
  // Encodes whole elements of the stripe into `out`, which has MostBytes of room. Answers its size.
  size_t Encode(std::span<const std::byte> raw, std::span<std::byte> out);

 private:
  const Codec codec_;
  const Element element_;
  std::vector<std::byte> code_;
  std::vector<uint8_t> exponents_;
  struct HuffmanState;
  std::unique_ptr<HuffmanState> huffman_;
};

// Decodes chunks of one stripe after another. Nothing is believed of what it is given: wrong bytes
// are answered with false, or decode to wrong elements (a checksum's business), and never lead to a
// read outside of the chunk and its slack or a write outside of the output.
// Allocates in its constructor only, save for chunks of other elements than bf16 that are larger than
// any before. Threads: one object is used by one thread at a time.
class ChunkDecoder {
 public:
  explicit ChunkDecoder(const CodecKernels& kernels);
  ~ChunkDecoder();
  ChunkDecoder(ChunkDecoder&& other) noexcept;

  // Begins a stripe. False when the code is not one: an unknown number, lengths that do not form a
  // complete prefix code.
  [[nodiscard]] bool Begin(Codec codec, Element element, std::span<const std::byte> code);

  // Decodes a chunk of raw.size() / ElementBytes elements. `stored` is followed by kCodecSlack
  // readable bytes. False when it is corrupt; `raw` is then undefined.
  [[nodiscard]] bool Decode(std::span<const std::byte> stored, std::span<std::byte> raw,
                            Store store);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::ops
