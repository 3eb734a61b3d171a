#pragma once

#include "models/k3/layers/context.h"
#include "models/k3/weights/pass.h"

namespace penstock::k3 {

// The vectors a product reads, one of [matrix cols] for each position.
Rows InputOf(const Context& context, Role role);

// The vectors a product writes, one of [matrix rows] for each position.
Rows OutputOf(const Context& context, Role role);

}  // namespace penstock::k3
