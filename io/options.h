#pragma once

#include <cstdint>
#include <string>

#include "runtime/size.h"

namespace penstock::io {

// How bytes are read. Every value may change time only, never a byte of what arrives.
struct IoOptions {
  std::string ioengine = "auto";
  uint64_t iodepth = 0;
  ByteSize bs{4 * kMiB};
  std::string window = "auto";
  std::string direct = "auto";
  std::string pace;
  std::string fault;
  std::string cpus_io;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("ioengine", c.ioengine, {"auto", "io_uring", "pread", "memory"},
      "How reads are made. auto: io_uring, or pread where io_uring is forbidden. memory: from an "
      "image of the files made at start, the cost of everything but the device.");
    v("iodepth", c.iodepth, "reads", 0, 4096,
      "Reads of --bs in flight on a device below the class of demanded reads, which go at once; "
      "at least two are. 0: as --window says.");
    v("bs", c.bs, "bytes", 4 * kKiB, 64 * kMiB,
      "Largest single read, a multiple of 4k. Longer extents are split.");
    v("window", c.window,
      "Bytes in flight on a device below the class of demanded reads, at least two reads of them "
      "and at most --iodepth. auto: the fewest that reach 0.98 of its rate, measured at start in "
      "0.4 s where 1 GiB or more is read directly, else 8M.");
    v("direct", c.direct, {"auto", "0", "1"},
      "O_DIRECT reads. auto: for each file that allows it. 1: refuse a file that does not.");
    v("pace", c.pace,
      "RATE[,LATENCY]: reads take at least LATENCY and come at no more than RATE a second, as from "
      "a slower device (\"3G\", \"500M,100us\").");
    v("fault", c.fault,
      "Script of faults, as \"short@7,eio@layer=17,delay=5ms\": short, eio, eagain, eintr, "
      "delay=TIME, reorder=TIME, seed=N; each at @N (the Nth read), @every=N, @file=N, "
      "@offset=BYTE "
      "or @layer=N, else at every read.");
    v("cpus-io", c.cpus_io, "CPUs of the I/O threads, as \"0,2-3\". Default: those inherited.");
  }
};

// Bytes in flight below the class of demanded reads where nobody says or measures them. A paced 3 GB/s device
// gives 0.92 of its rate with 4 MiB, 0.999 with 8 MiB, and more only lengthens the wait of a
// demanded read.
inline constexpr uint64_t kDefaultWindowBytes = 8 * kMiB;

}  // namespace penstock::io
