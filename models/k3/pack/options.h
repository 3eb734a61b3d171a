#pragma once

#include <string>

#include "runtime/size.h"

namespace penstock::k3 {

// `penstock pack`.
struct PackOptions {
  std::string model;
  std::string tensor_file;
  std::string out;
  std::string codec = "auto";
  ByteSize stripe{8 * kMiB};
  ByteSize disk;
  uint64_t cores = 0;
  uint64_t threads = 0;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model, "Directory of the checkpoint whose trunk is packed.");
    v("tensor-file", c.tensor_file, "One safetensors file of any model, packed whole, instead.");
    v("out,o", c.out,
      "Directory of the pack. One that was begun with the same options is gone on with.");
    v("codec", c.codec, {"auto", "chain", "huffman", "raw"},
      "auto: for each kind of element what delivers most from a device of --disk with --cores.");
    v("stripe", c.stripe, "bytes", kMiB, 64 * kMiB,
      "Weights of a stripe, the piece that is read and decoded as one.");
    v("disk", c.disk, "bytes/s", 0, 1024 * kGiB,
      "Rate of the device the pack will be read from, for --codec auto. 0: of this one, measured.");
    v("cores", c.cores, "cores", 0, 4096,
      "Cores that will decode, for --codec auto. 0: those of this machine.");
    v("threads,t", c.threads, "threads", 0, 4096, "Threads that encode. 0: one for each CPU.");
  }
};

// `penstock unpack`.
struct UnpackOptions {
  std::string pack;
  std::string out;
  uint64_t threads = 0;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("pack", c.pack, "Directory of a pack of --tensor-file.");
    v("out,o", c.out, "The file to write; it must not be there.");
    v("threads,t", c.threads, "threads", 0, 4096, "Threads that decode. 0: one for each CPU.");
  }
};

// `penstock verify`.
struct VerifyOptions {
  std::string pack;
  std::string against;
  uint64_t threads = 0;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("pack", c.pack, "Directory of the pack.");
    v("against", c.against,
      "The checkpoint, or the file, it was made from: compared byte by byte.");
    v("threads,t", c.threads, "threads", 0, 4096, "Threads that decode. 0: one for each CPU.");
  }
};

}  // namespace penstock::k3
