#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "models/k3/config/shape.h"

namespace penstock::k3 {

inline const std::string kReleasedConfig =
    PENSTOCK_SOURCE_DIR "/tests/models/k3/plan/released-config.json";

// The shape of the release, from the config that is published with it.
inline Shape ReleasedShape() {
  std::ifstream file(kReleasedConfig);
  const std::string json((std::istreambuf_iterator<char>(file)), {});
  return *ParseShape(json, kReleasedConfig);
}

}  // namespace penstock::k3
