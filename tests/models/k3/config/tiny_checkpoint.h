#pragma once

#include <string>

namespace penstock::k3 {

// The checkpoint that is part of the tree.
inline const std::string kTiny = PENSTOCK_SOURCE_DIR "/models/k3/tiny";

}  // namespace penstock::k3
