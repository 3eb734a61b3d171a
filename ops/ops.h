#pragma once

// penstock::ops: pure functions on spans. (front door; story to be completed by this module)
//
//   kernels/     one record of raw-pointer functions per instruction set (Kernels)
//   isa.h        chooses the record once, after checking it against scalar
//   router.h     top-k choice and weights of the experts
//   attention.h  latent MLA over pages, through Eigen
//   reference/   every operator in double as plain loops: the oracle of the tests

#include "ops/attention.h"
#include "ops/isa.h"
#include "ops/kernels/kernels.h"
#include "ops/router.h"
