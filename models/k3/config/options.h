#pragma once

#include <cstdint>
#include <string>

#include "runtime/options/zero_is_auto.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::k3 {

// How one process shares out its memory and cores while it runs a checkpoint. Every value may
// change time only, never a bit of the output. Zero and "" mean that the planner decides.
struct PipelineOptions {
  std::string preset = "auto";  // Of plan/preset.h: values for what is not given here.
  ByteSize memory;        // Resident bytes of the whole process; 0: what the machine can give.
  ByteSize ring;          // Bytes of the ring that weights stream through.
  uint64_t depth = 0;     // Layers ahead of the one being computed, itself counted; 0: no bound.
  ByteSize expert_cache;  // Bytes of the expert cache.
  std::string predict = "auto";
  std::string pin = "auto";   // "4": four layers, "2G": as many as fit.
  ByteSize extent{8 * kMiB};  // The largest piece a tensor is read in.
  std::string pack;           // Directory of the trunk's pack; empty: the checkpoint alone.
  std::string decode = "auto";
  std::string pin_format = "auto";
  std::string check = "stored";
  std::string cpus_decode;   // As cpus_compute; empty: those that compute.
  std::string cpus_compute;  // "0,2-3"; empty: the CPUs this process inherited.
  uint64_t threads = 0;      // Threads that compute; 0: one for each CPU of the set.
  // What the text side asks for (--draft-max, --prefill-chunk): no flags of their own.
  uint64_t positions = 8;         // The most of a step: a token and the draft behind it.
  bool fewer_positions = false;   // Fewer where there is no memory for them; else it is refused.
  uint64_t read_positions = 0;    // The most of one that reads a prompt, if more; 0: chosen from
  uint64_t prompt_positions = 0;  // memory and shapes, and no more than are to be read.
  std::string isa = "auto";

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("preset", c.preset, {"auto", "least", "stream", "16g", "32g", "64g", "128g", "256g"},
      "Values for the options here that are not given (penstock plan --list-presets).");
    v("memory", c.memory, "bytes", kZeroIsAuto, 1024 * kTiB,
      "Resident size of the whole process. auto: what the machine and its cgroups can give.");
    v("ring", c.ring, "bytes", kZeroIsAuto, 1024 * kTiB,
      "Ring that the weights stream through. auto: chosen from --memory.");
    v("depth", c.depth, "layers", 0, 4096,
      "Furthest layer that may be read ahead; 1 is the layer being computed. 0: the ring decides.");
    v("expert-cache", c.expert_cache, "bytes", kZeroIsAuto, 1024 * kTiB,
      "Budget of the expert cache. auto: chosen from --memory.");
    v("predict", c.predict, {"auto", "off", "next", "previous", "both"},
      "What names experts that are read before they are demanded, with what the cache holds beyond "
      "the demands of one layer. next: the next layer's router, applied early. previous: what the "
      "token before chose. auto: the better one in each layer; none where it does not pay.");
    v("pin", c.pin,
      "Keep N layers in memory (\"4\"), or as many as fit a size (\"2G\"), spread evenly; the head "
      "counts as one. auto: what --memory leaves when ring and experts of a layer have theirs.");
    v("extent", c.extent, "bytes", kMiB, 64 * kMiB, "Largest piece a tensor is read in.");
    v("pack", c.pack, "Read the trunk from this directory, which `penstock pack` has written.");
    v("decode", c.decode, {"auto", "node", "fused"},
      "Where stripes of a pack are decoded. fused: by the product, one tile at a time. node: "
      "whole, "
      "on CPUs of their own, into a second ring. auto: what a measurement at start finds faster.");
    v("pin-format", c.pin_format, {"auto", "raw", "packed"},
      "How --pin keeps layers of a pack: decoded once, or packed and decoded each step. auto: raw "
      "when all that is to be pinned fits so.");
    v("check", c.check, {"stored", "full"},
      "Sums of a pack that are checked: of what is stored, before it is decoded, or of what was "
      "decoded as well.");
    v("cpus-decode", c.cpus_decode,
      "CPUs of --decode node, as \"0,2-3\". Default: those that compute.");
    v("cpus-compute", c.cpus_compute, "CPUs that compute, as \"0,2-3\". Default: those inherited.");
    v("threads,t", c.threads, "threads", 0, 4096, "Threads that compute. 0: one for each CPU.");
    v("isa", c.isa, {"auto", "scalar", "avx2", "avx512"}, "Instruction set of the kernels.");
  }
};

// What --pin asks for: a number of layers, or the bytes they may take. One of the two is zero.
struct Pin {
  bool automatic = false;  // As many as the planner finds worth it; both are zero.
  uint64_t layers = 0;
  uint64_t bytes = 0;
};

// "auto", or: a bare number is layers, a number with a unit (k, M, G, T, B) is bytes. Anything else is refused.
Result<Pin> ParsePin(const std::string& text);

}  // namespace penstock::k3
