#pragma once

#include <gtest/gtest.h>

#include "models/k3/config/shape.h"
#include "models/k3/synth/synth.h"

namespace penstock::k3 {

inline Shape ShapeOf(const SynthOptions& options) {
  auto shape = ParseShape(*SynthConfig(options), "c");
  EXPECT_TRUE(shape);
  return *shape;
}

}  // namespace penstock::k3
