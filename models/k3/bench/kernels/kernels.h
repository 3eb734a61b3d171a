#pragma once

#include <cstdint>
#include <string>

#include "models/k3/bench/hooks.h"
#include "models/k3/bench/kernels/rows.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::k3 {

struct KernelBenchOptions {
  uint64_t repetitions = 15;
  std::string kernel;
  std::string isa;
  ByteSize bytes{512 * kMiB};
  std::string cpu;
  uint64_t threads = 1;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("repetitions", c.repetitions, "rounds", 1, 10000, "Rounds in which every variant runs once.");
    v("kernel", c.kernel,
      "Which of mxfp4, bf16, kda and attention, as \"mxfp4,bf16\". Default: all.");
    v("isa", c.isa,
      "scalar, avx2, avx512, or auto for the one that is chosen. Default: each that this machine "
      "runs, but scalar only where there is no other.");
    v("bytes", c.bytes, "bytes", 256 * kKiB, kTiB,
      "Memory that weights are streamed from: more than the caches hold, for a result that means "
      "something; matrices that would take more than half of it have fewer rows.");
    v("cpu", c.cpu, "The CPU that works. Default: the last of those inherited.");
    v("threads", c.threads, "threads", 1, 1, "Kernels are measured on one thread.");
  }
};

// How fast the kernels of ops work at the released shapes, beside the reading of memory, memcpy
// and other ways to do the same, in CPU time of one pinned thread. Rows:
//
//   read-1 read-4 read-8   memory summed in so many linear streams; the best is the bound "read"
//   memcpy                 bytes read and written
//   mxfp4       3072x3584 and 3584x3072, one and four vectors, with each instruction set
//   mxfp4-table  exact, magnitudes by a permuted table, signs by XOR (AVX2)
//   mxfp4-int8   lossy, the vector rounded to 8 bits by groups of 32 columns (AVX2)
//   mxfp4-plain  plain loops in double
//   bf16        7168x7168 and 12288x7168, one and four vectors
//   bf16-eigen  Eigen's cast of every element, then its product
//   kda         one delta-rule step of 96 heads of 128x128, state read and written
//   attention   latent attention of 96 heads over 4096 cached positions, pages as often as read
//
// Before, each instruction set is compared bit by bit with scalar (kUnsound). kRefused: options that
// cannot work, too little memory. Pins the calling thread and leaves it so.
Result<KernelReport> BenchKernels(const KernelBenchOptions& options, const BenchHooks& hooks);

}  // namespace penstock::k3
