#pragma once

#include <cstddef>
#include <string>

#include "models/k3/config/options.h"
#include "models/k3/weights/packed/stripe_decoder.h"
#include "ops/kernels/kernels.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What a stripe costs one thread, in nanoseconds a KiB of bf16: decoded tile by tile into the
// product; decoded whole; multiplied from where that left it.
struct DecodeCost {
  double fused = 0;
  double decode = 0;
  double product = 0;
};

// Measures the largest coded stripe of the pack among its first ones, a few times, on this thread;
// some ten milliseconds. All zero when the pack has none (raw stripes only).
Result<DecodeCost> MeasureDecode(const io::Pack& pack, const Pass& pass,
                                 const ops::CodecKernels& codecs, const ops::Kernels& kernels);

// The threads a choice is about: those that compute, those on --cpus-decode, and whether the two sets
// of CPUs have some in common.
struct DecodeCores {
  size_t compute = 1;
  size_t decode = 1;
  bool shared = true;
};

// The time of a KiB when stripes are decoded by the product, and on CPUs of their own. On shared
// CPUs the work of both is done by the same cores.
double FusedTime(const DecodeCost& cost, const DecodeCores& cores);
double NodeTime(const DecodeCost& cost, const DecodeCores& cores);

}  // namespace penstock::k3
