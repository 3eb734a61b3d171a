#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/k3/pack/options.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Packs: weights stored once more in fewer bytes, stripe by stripe (the format: io/pack.h).
//
//   source.h        what is packed: the trunk in order of use, or one safetensors file
//   codec_choice.h  which codec, by what device and cores deliver together
//   encoder.h       elements to the bytes of a stripe
//   stripe_flow.h   reads ahead, works on several stripes at once, ends them in order
//
// Each of the three functions here reads through io::Reader, uses all cores and at most
// kPackMemory besides the program, and can be stopped between two stripes.

inline constexpr uint64_t kPackMemory = 384 * kMiB;

struct PackWatch {
  // Begins something that takes long: what it is, how many bytes, and how many are done already.
  std::function<void(const std::string& what, uint64_t total, uint64_t done)> begin;
  std::function<void(uint64_t done)> advance;
  std::function<bool()> stop;  // True when somebody asked to.
  Notice notice;
};

struct PackResult {
  uint64_t stripes = 0;
  uint64_t raw_bytes = 0;
  uint64_t stored_bytes = 0;
  uint64_t file_bytes = 0;       // With the zeros between stripes.
  uint64_t resumed_stripes = 0;  // That were there already.
  std::string codecs;            // "chain 120 stripes, raw 3"
  double encode_seconds = 0;     // Summed over threads, their own processor time.
  uint64_t encoded_bytes = 0;    // Raw bytes of it.
};

// Writes a pack, or goes on with one. kRefused: a source or directory that cannot be; kFailed: the
// device, with what remains to go on with; kCancelled: stopped, likewise.
Result<PackResult> WritePack(const PackOptions& options, const PackWatch& watch);

struct UnpackResult {
  uint64_t bytes = 0;
};

// Writes the file that a pack of --tensor-file was made from. It appears whole or not at all; every
// sum of the pack is checked on the way (kUnsound).
Result<UnpackResult> Unpack(const UnpackOptions& options, const PackWatch& watch);

struct VerifyResult {
  uint64_t stripes = 0;
  uint64_t stored_bytes = 0;
  uint64_t raw_bytes = 0;
  uint64_t compared_bytes = 0;  // With --against.
};

// Checks every byte of a pack: its sums, its zeros, that it decodes, the sums of what comes of it and,
// with `against`, that this is what the source holds. kUnsound names the first stripe and file that
// is not.
Result<VerifyResult> VerifyPack(const VerifyOptions& options, const PackWatch& watch);

}  // namespace penstock::k3
