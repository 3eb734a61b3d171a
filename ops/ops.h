#pragma once

// penstock::ops: the arithmetic of one position or a few, as pure functions on memory that the
// caller owns. No files, no threads of its own, no allocation once running, and nothing of any one
// model: widths, epsilons and constants are arguments.
//
//   kernels/     one record of raw-pointer functions per instruction set (Kernels)
//   isa.h        chooses the record once, after checking it against scalar
//   router.h     top-k choice and weights of the experts
//   attention.h  latent attention over cache pages, through Eigen
//   codec/       lossless codecs of stored weights (codec.h), exact or wrong
//   reference/   every operator in double as plain loops: the oracle of the tests
//
// The promise of the whole module is that a number does not depend on how it was computed: the same
// bits on every instruction set, for a position alone or among others, and for every way of cutting
// a matrix into row ranges. It is kept by construction. The order of every sum is defined once, in
// lanes and a tree that stand in the comment of the operator's body (kernels/*.inc.h), and there is
// one body only: each instruction set includes the same text over its own eight-lane type. exp,
// tanh, sigmoid and softplus are part of that text. Only the lane types differ, operation by
// operation, and tests compare them bit by bit. Whoever adds an instruction set writes a lane type.
//
// Precision: weights are used exactly as stored (bf16, MXFP4, f32), activations and sums are f32.
// Infinities and NaN are carried along, and squares that overflow become NaN, so that a check of an
// operator's output is enough to notice; a NaN's sign and payload are not part of the promise.

#include "ops/attention.h"
#include "ops/isa.h"
#include "ops/kernels/kernels.h"
#include "ops/router.h"
