#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/engines/decorators/pace.h"
#include "io/engines/engine.h"
#include "io/file.h"
#include "io/options.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::io {

// W, the bytes that the classes below demanded may have in flight on a device.
struct Window {
  uint64_t bytes = kDefaultWindowBytes;
  uint64_t bytes_per_second = 0;  // Of the device, as measured or as --pace says; 0: not known.
};

// The share of the device's rate that W must reach, and what is tried for it.
inline constexpr double kWindowShare = 0.98;
inline constexpr uint64_t kMostWindowBytes = 64 * kMiB;
// Files below it are read before the best window for them is known.
inline constexpr uint64_t kLeastMeasuredBytes = kGiB;
inline constexpr Duration kWindowBudget{400'000'000};

// W as the options want it. --iodepth times --bs is W, or with --window SIZE its upper bound;
// --window auto is arithmetic for a paced device, a measurement of kWindowBudget for direct files of
// kLeastMeasuredBytes in all on one device (the one with most of them; W holds for every device),
// and kDefaultWindowBytes otherwise, also where reading failed: the reads that matter will say so.
// Refused: a --window that is neither, an engine that cannot be made.
Result<Window> ChooseWindow(const IoOptions& options, const FileSet& files);

// Reads `block_bytes` at a time from the direct files of `device` through an engine that was not
// started, twice as many at once from step to step, in turns, at rotating offsets. Takes about
// `budget`, at most twice that and two reads. The engine is stopped afterwards.
Result<Window> MeasureWindow(Engine& engine, const FileSet& files, uint32_t device,
                             uint64_t block_bytes, Duration budget);

// Which of `reads`, numbers of reads in flight that grow, is enough: the first that no larger one
// beat by more than kWindowShare allows in every round. Neighbours disturb one round or another; a
// device that needs more in flight shows it in all. `rounds` has at least one, with the bytes a
// second of each number.
struct SufficientReads {
  uint64_t reads = 0;
  double bytes_per_second = 0;  // Of the best number in a round, the median of rounds.
};
SufficientReads SmallestSufficient(std::span<const uint64_t> reads,
                                   std::span<const std::vector<double>> rounds);

// W of a paced device: what it moves while one read completes and the next is submitted.
Window WindowOfPace(const Pace& pace, uint64_t block_bytes);

}  // namespace penstock::io
