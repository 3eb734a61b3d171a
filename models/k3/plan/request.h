#pragma once

#include <cstdint>
#include <string>

#include "io/options.h"
#include "models/k3/config/options.h"
#include "models/k3/plan/run_plan.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What is planned, and the machine it is planned for.
struct PlanOptions {
  std::string model;
  std::string config;
  ByteSize disk{7 * kGiB};
  uint64_t cores = 0;
  uint64_t context = 4096;
  uint64_t prompt = 512;
  uint64_t position = 0;
  double pack_ratio = 0;
  double hit_rate = -1;
  bool calibrate = false;
  ByteSize bf16_rate;
  ByteSize mxfp4_rate;
  ByteSize decode_rate;
  ByteSize memory_bandwidth;
  bool json = false;
  bool list_presets = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model, "Directory of a checkpoint: its headers are read.");
    v("config", c.config, "A config.json alone: the checkpoint need not be there.");
    v("disk", c.disk, "bytes a second", kMiB, 1024 * kGiB, "Rate of the device.");
    v("cores", c.cores, "cores", 0, 4096, "Threads that compute. 0: as generate would here.");
    v("context,c", c.context, "positions", 1, uint64_t{1} << 24, "Positions of the state.");
    v("prompt", c.prompt, "positions", 0, uint64_t{1} << 24,
      "Of the prompt, which is read in chunks of at most so many.");
    v("position", c.position, "positions", 0, uint64_t{1} << 24,
      "Of the token that is predicted: what its attention looks back on.");
    v("pack-ratio", c.pack_ratio, "", 0.0, 1.0,
      "Plan for a pack that takes this share of the trunk. 0: none, or that of --pack.");
    v("hit-rate", c.hit_rate, "", -1.0, 1.0,
      "Share of chosen experts found in the cache, where it was measured (penstock replay). -1: "
      "that of experts which are all used equally often.");
    v("calibrate", c.calibrate, "Measure the kernels on this machine, in less than a second.");
    v("bf16-rate", c.bf16_rate, "bytes a second", kZeroIsAuto, 1024 * kGiB,
      "Of bf16 weights on one core. auto: measured by --calibrate, else the README's.");
    v("mxfp4-rate", c.mxfp4_rate, "bytes a second", kZeroIsAuto, 1024 * kGiB,
      "Of MXFP4 weights on one core.");
    v("decode-rate", c.decode_rate, "bytes a second", kZeroIsAuto, 1024 * kGiB,
      "Of stripes on one core, in bytes of bf16 that come of them.");
    v("memory-bandwidth", c.memory_bandwidth, "bytes a second", kZeroIsAuto, 1024 * kGiB,
      "Of all cores together.");
    v("json", c.json, "The plan as JSON, schema penstock.plan.v1.");
    v("list-presets", c.list_presets, "The presets of --preset, and what they stand for.");
  }
};

// Reads what the options name (a config, or the headers of a checkpoint and of its pack) and the
// machine, as far as they do not say.
Result<PlanRequest> MakePlanRequest(const PlanOptions& options, const PipelineOptions& pipeline,
                                    const io::IoOptions& io_options, const Notice& notice);

}  // namespace penstock::k3
