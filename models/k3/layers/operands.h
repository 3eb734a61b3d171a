#pragma once

#include "models/k3/layers/context.h"
#include "models/k3/weights/pass.h"

namespace penstock::k3 {

// The vector a product reads, [matrix cols].
const float* InputOf(const Context& context, Role role);

// The vector a product writes, [matrix rows].
float* OutputOf(const Context& context, Role role);

}  // namespace penstock::k3
