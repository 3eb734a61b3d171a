#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/k3/synth/synth.h"

namespace penstock::k3 {

// Defaults under a name: "tiny", the embedded checkpoint's shape, or "k3-slice", the released
// layer shapes with 6 layers, 48 experts and 8192 tokens (about 12 GB), trained-like weights and
// k3-like routes. Any other name gives "tiny".
SynthOptions PresetOptions(std::string_view preset);

// Random ids that are run after writing by default, to tell what routes came out.
uint64_t PresetMeasure(std::string_view preset);

}  // namespace penstock::k3
