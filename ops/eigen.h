#pragma once

// Eigen with the settings of this project, the same in every translation unit that uses it.
//
//   one thread     threads split rows outside, never a sum
//   fixed caches   Eigen asks the CPU for its cache sizes and cuts a product, and with it a sum,
//                  accordingly; UseFixedCaches (attention.cc) replaces them by constants
//   no heap        the packing blocks of a product live on the stack; with set_is_malloc_allowed
//                  a test proves it
//   no AVX         compiled for the baseline instruction set, so that all machines run the same
//                  sums, and so that no AVX code hides in the symbols that Eigen shares
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_STACK_ALLOCATION_LIMIT (256 * 1024)
#define EIGEN_RUNTIME_NO_MALLOC
#define eigen_assert(condition) PENSTOCK_CHECK(condition)

#include "runtime/check.h"
// The settings above must come first.
#include <Eigen/Core>
