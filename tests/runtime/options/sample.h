#pragma once

#include <cstdint>
#include <string>

#include "runtime/size.h"

namespace penstock {

// An option of every kind.
struct Sample {
  uint32_t iodepth = 8;
  int64_t offset = -3;
  uint64_t seed = 0;
  double temp = 0.5;
  float top_p = 0.9f;
  ByteSize bs{4 * kMiB};
  Duration pause{5'000'000};
  std::string engine = "auto";
  std::string prompt;
  bool flag = false;
  bool on = true;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("iodepth", c.iodepth, "reads", 1, 4096, "Reads in flight.");
    v("offset", c.offset, "steps", -5, 5, "A number that may be negative.");
    v("seed,s", c.seed, "", 0, UINT64_MAX, "Any number.");
    v("temp", c.temp, "", 0, 2, "A fraction.");
    v("top-p", c.top_p, "", 0.0, 1.0, "A fraction in single precision.");
    v("bs", c.bs, "bytes", 4 * kKiB, 64 * kMiB, "A size.");
    v("pause", c.pause, "time", 0, 1'000'000'000, "A duration.");
    v("ioengine", c.engine, {"auto", "pread", "io_uring"}, "A choice.");
    v("prompt,p", c.prompt, "Any text.");
    v("flag", c.flag, "A switch.");
    v("on", c.on, "A switch that is on.");
  }
};

}  // namespace penstock
