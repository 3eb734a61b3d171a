#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/k3/bench/codec/rows.h"
#include "models/k3/bench/hooks.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::k3 {

struct CodecBenchOptions {
  std::string model;
  ByteSize bytes{256 * kMiB};
  uint64_t repetitions = 9;
  std::string cpu;
  uint64_t threads = 1;
  uint64_t chunk = 57344;
  std::string codec;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model,
      "Directory of a checkpoint whose bf16 matrices are measured too, besides generated weights.");
    v("bytes", c.bytes, "bytes", 64 * kKiB, kTiB,
      "Weights that a run delivers: more than the caches hold, for a result that means something.");
    v("repetitions", c.repetitions, "rounds", 1, 10000, "Rounds in which every variant runs once.");
    v("cpu", c.cpu,
      "The CPU that decodes; with --threads as many, as \"2,3\". Default: the last of those "
      "inherited.");
    v("threads", c.threads, "threads", 1, 64,
      "Above 1, decoding on so many CPUs at once is measured too, beside one and by the wall.");
    v("chunk", c.chunk, "elements", 64, 1 << 24, "Elements of a chunk.");
    v("codec", c.codec, "Which of raw, chain, huffman and zstd, as \"chain,zstd\". Default: all.");
  }
};

// How fast the codecs of ops/codec decode bf16 weights in memory, beside memcpy and zstd, on
// generated weights ("syn") and those of a checkpoint ("trunk"). Rows, by the CPU time of one
// pinned thread unless said:
//
//   memcpy           std::memcpy, chunk by chunk, as the decoders write (no streaming stores)
//   memcpy-whole     one call for everything; large ones take streaming stores in some C libraries
//   raw chain huffman   ops::ChunkDecoder with the kernels chosen here, past the caches
//   chain-scalar, huffman-avx2, ...   with the kernels of each instruction set of this machine
//   huffman-plain    symbol after symbol, stream after stream, then merged
//   zstd-1           zstd, level 1, on the exponents of a chunk, then merged with their rest
//   raw+sum ...      with the XXH3-64 of each stored chunk verified first
//   chain-tile ...   each chunk into one memory that stays in the cache
//   chain-encode ... encoding, with the choice of the code and the checksums
//   "chain x2 threads"      with --threads, by the wall, beside "chain x1 threads"
//   "chain x2 threads cpu"  equal parts, by the CPU time of the busiest thread: what the wall would
//                           say on an idle machine
//
// Slow ones do an eighth of the bytes. Every row's output is compared with its weights before
// (kUnsound). kRefused: options that cannot work, a checkpoint that is none, too little memory.
// Pins the calling thread and leaves it so.
Result<std::vector<CodecRow>> BenchCodec(const CodecBenchOptions& options, const BenchHooks& hooks);

}  // namespace penstock::k3
