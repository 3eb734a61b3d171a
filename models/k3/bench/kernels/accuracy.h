#pragma once

#include <cstddef>

#include "models/k3/bench/kernels/comparators.h"
#include "ops/kernels/kernels.h"

namespace penstock::k3 {

// The largest error of a product over the sum of |w x|, on 64 drawn rows whose scales lie within a
// few powers of two, as those of trained weights do.
double Mxfp4Error(const ops::Kernels& kernels, size_t cols);
double Mxfp4Error(Mxfp4Comparator product, size_t cols);

}  // namespace penstock::k3
