#pragma once

#include <string>
#include <string_view>

#include "models/k3/step/figures.h"
#include "models/k3/step/verdict.h"
#include "runtime/options/options.h"

namespace penstock::k3 {

// What the figures of a step or of a run say, as fields of its record:
//   causes{device, submit, ...}    ns, they sum to the time (models/k3/step/causes.h)
//   devices[{name, window_bytes, payload_bytes, device_bytes, reads, busy_ns, full_ns,
//            mean_depth_bytes, latency_ns{demanded, trunk, predicted}{reads, p50, p99}}]
//   overlap                        max(device busy, compute busy) / time
//   nodes{name{messages, busy_ns, longest_ns}}   those that ran
//   verdict{bound, sentence, advice}
Json FiguresToJson(const Figures& figures, std::string_view what);

// One line of the tables of --stats.
std::string FigureRow(std::string_view name, const std::string& value);

// The same as lines of a table, for --stats.
std::string FiguresTable(const Figures& figures, std::string_view what);

}  // namespace penstock::k3
