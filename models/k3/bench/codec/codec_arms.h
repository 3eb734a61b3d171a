#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/k3/bench/codec/codec.h"
#include "models/k3/bench/codec/packed.h"
#include "models/k3/bench/codec/unpacking.h"
#include "models/k3/bench/codec/weights.h"
#include "runtime/measure/measure.h"

namespace penstock::k3 {

// A variant that is measured: what stands in its row before there is a result, and how it is run.
struct CodecArm {
  CodecRow row;
  std::function<double()> run;
  std::function<Status()> check;
  std::string memcpy_row = "memcpy";  // What it is compared with.
  std::string one_thread_row;
};

// What is the same for all data.
struct CodecSetting {
  std::set<std::string> codecs;  // Of raw, chain, huffman, zstd.
  size_t chunk = 0;              // Elements.
  ops::CodecKernels chosen;
  Team& alone;
  Team* many = nullptr;  // With --threads.
};

// The arms of codec.h for one set of weights, with the memory they work in. The arms refer to this
// object and to the weights.
class CodecArms {
 public:
  CodecArms(const CodecSetting& setting, const Weights& weights)
      : setting_(setting), weights_(weights) {}
  CodecArms(const CodecArms&) = delete;
  CodecArms& operator=(const CodecArms&) = delete;

  // Packs the weights and makes the arms. False from `go_on` ends it with kCancelled.
  Status Prepare(const std::function<bool(uint64_t done, uint64_t total)>& go_on);
  const std::vector<CodecArm>& arms() const { return arms_; }

 private:
  bool Wants(const std::string& codec) const { return setting_.codecs.contains(codec); }
  Status MapMemory();
  Status PackAll(const std::function<bool(uint64_t done, uint64_t total)>& go_on);

  CodecArm& Add(const std::string& codec, const std::string& isa, const Packed& packed);
  void AddUnpacking(const UnpackWork& unpack, const std::string& isa);
  void AddThreads(const UnpackWork& unpack, const std::string& isa);
  void AddEncode(const std::string& name, ops::Codec codec, const Packed& packed);
  void AddMemcpy();
  void AddChosen();
  void AddChainKernels();
  void AddHuffmanKernels();
  void AddZstd();
  void AddManyThreads();
  size_t Part(const Packed& packed) const;

  const CodecSetting& setting_;
  const Weights& weights_;
  HugeRegion out_, tiles_;
  Destination destination_;
  Packed raw_, chain_, huffman_, zstd_;
  std::deque<Packed> encoded_;  // By the arms that encode.
  std::deque<std::unique_ptr<Coder>> coders_;
  std::deque<Unpacking> unpackings_;
  std::vector<CodecArm> arms_;
};

}  // namespace penstock::k3
