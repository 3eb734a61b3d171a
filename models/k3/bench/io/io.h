#pragma once

#include <cstdint>
#include <string>

#include "models/k3/bench/hooks.h"
#include "models/k3/bench/io/rows.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::k3 {

struct IoBenchOptions {
  std::string model;
  std::string ioengine = "io_uring,pread";
  ByteSize bs{4 * kMiB};
  uint64_t iodepth = 0;
  Duration seconds{1'000'000'000};
  uint64_t repetitions = 9;
  std::string fio = "auto";
  std::string pace = "2G";
  uint64_t demands = 500;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model,
      "The file that is read, or a directory of them. Without it only demanded reads are "
      "measured.");
    v("ioengine", c.ioengine, "Which of io_uring and pread, as \"io_uring,pread\".");
    v("bs", c.bs, "bytes", 4 * kKiB, 64 * kMiB, "Largest single read, a multiple of 4k.");
    v("iodepth", c.iodepth, "reads", 0, 4096,
      "Reads in flight. 0: the fewest that reach the device's rate.");
    v("seconds", c.seconds, "a run", 1'000'000, 60'000'000'000, "How long a run should take.");
    v("repetitions", c.repetitions, "rounds", 1, 10000, "Rounds in which every variant runs once.");
    v("fio", c.fio, {"auto", "0", "1"},
      "Whether fio reads the same file in turns. auto: when it is installed. 1: refuse otherwise.");
    v("pace", c.pace,
      "RATE[,LATENCY] of the device that demanded reads are measured on, as for generate.");
    v("demands", c.demands, "reads", 0, 1'000'000, "Demanded reads. 0 leaves them out.");
  }
};

// How fast the Reader reads, beside fio, and how long a demanded read takes.
//
// Each engine and each of FioConfigs is an arm (runtime/measure): a run reads the same number of
// bytes in order, directly and into 2 MiB pages, from where the run before ended, because what a
// host has read before may come from its cache. The body is io::SequentialReads. Demanded reads are
// those of io::MeasureDemandLatency.
// Refused: nothing to do, no file of 8 MiB, an engine that is unknown or forbidden.
Result<IoReport> BenchIo(const IoBenchOptions& options, const BenchHooks& hooks);

}  // namespace penstock::k3
