#include "models/k3/plan/preset.h"

#include <array>

#include <fmt/format.h>

#include "runtime/check.h"

namespace penstock::k3 {
namespace {

// A class leaves the rest of the machine about a sixteenth, and 2 GiB at least.
constexpr std::array<Preset, 8> kPresets = {{
    {"auto", 0, 0, 0, "auto", "auto", false,
     "all that the machine and its cgroup give, shared out by value"},
    {"least", 0, 0, 0, "0", "fused", true,
     "the smallest ring and cache that work: for tests, and to leave memory to others"},
    {"stream", 0, 0, 0, "0", "auto", false, "nothing pinned: the device is the limit"},
    {"16g", 14 * kGiB, 0, 0, "auto", "fused", false, "a machine of 16 GiB"},
    {"32g", 30 * kGiB, 0, 0, "auto", "auto", false, "a machine of 32 GiB"},
    {"64g", 60 * kGiB, 0, 0, "auto", "auto", false, "a machine of 64 GiB"},
    {"128g", 120 * kGiB, 0, 0, "auto", "auto", false,
     "a machine of 128 GiB: a packed trunk of the release is pinned whole"},
    {"256g", 240 * kGiB, 0, 0, "auto", "auto", false,
     "a machine of 256 GiB: the trunk is pinned, experts stream"},
}};

}  // namespace

std::span<const Preset> Presets() { return kPresets; }

const Preset& FindPreset(const std::string& name) {
  for (const Preset& preset : kPresets) {
    if (name == preset.name) return preset;
  }
  PENSTOCK_CHECK(false);
  return kPresets[0];
}

PipelineOptions ApplyPreset(PipelineOptions options) {
  const Preset& preset = FindPreset(options.preset);
  if (options.memory.bytes == 0) options.memory.bytes = preset.memory;
  if (options.ring.bytes == 0) options.ring.bytes = preset.ring;
  if (options.depth == 0) options.depth = preset.depth;
  if (options.pin == "auto") options.pin = preset.pin;
  if (options.decode == "auto" && !options.pack.empty()) options.decode = preset.decode;
  return options;
}

std::string BudgetName(const PipelineOptions& options) {
  const uint64_t preset = FindPreset(options.preset).memory;
  return preset != 0 && options.memory.bytes == preset ? "--preset " + options.preset : "--memory";
}

std::string PresetTable() {
  std::string out = fmt::format("{:<8} {:>7} {:>6} {:>6} {:>5} {:>6}  {}\n", "preset", "memory",
                                "ring", "depth", "pin", "decode", "for");
  const auto size = [](uint64_t bytes) { return bytes == 0 ? "auto" : FormatSize({bytes}); };
  for (const Preset& preset : kPresets) {
    out += fmt::format("{:<8} {:>7} {:>6} {:>6} {:>5} {:>6}  {}\n", preset.name,
                       size(preset.memory), preset.frugal ? "least" : size(preset.ring),
                       preset.depth == 0 ? "auto" : std::to_string(preset.depth), preset.pin,
                       preset.decode, preset.summary);
  }
  return out;
}

}  // namespace penstock::k3
