#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.h"

namespace penstock {

// An amount of bytes. A type of its own so that an option row knows to read "8M" and to print it.
struct ByteSize {
  uint64_t bytes = 0;

  friend constexpr bool operator==(ByteSize a, ByteSize b) { return a.bytes == b.bytes; }
  friend constexpr auto operator<=>(ByteSize a, ByteSize b) { return a.bytes <=> b.bytes; }
};

// A span of time, in nanoseconds, for option rows that read "100us".
struct Duration {
  uint64_t ns = 0;

  friend constexpr bool operator==(Duration a, Duration b) { return a.ns == b.ns; }
  friend constexpr auto operator<=>(Duration a, Duration b) { return a.ns <=> b.ns; }
};

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;
inline constexpr uint64_t kTiB = uint64_t{1} << 40;

// Reads "4096", "4k", "8M", "1.5G", "2T" (also "4K", "8MiB", "8MB", "512B"). Every unit is a power
// of 1024, as in fio. A fraction must come to whole bytes after rounding down. Signs, spaces,
// junk and anything of 2^63 bytes or more are refused.
Result<ByteSize> ParseSize(std::string_view text);

// The shortest spelling that ParseSize reads back to the same value: "8M", "1536k", "4097".
std::string FormatSize(ByteSize size);

// For people: three significant digits and the unit, "1.46 GiB". Does not read back.
std::string DescribeSize(uint64_t bytes);

// Reads "5ms", "100us", "2s", "250ns", "1.5ms", "1m" (minutes); a bare "0" needs no unit. Refuses
// signs, junk and more than 2^63 - 1 ns.
Result<Duration> ParseDuration(std::string_view text);

// The shortest spelling that ParseDuration reads back to the same value: "5ms", "1500us".
std::string FormatDuration(Duration duration);

// The smallest multiple of `unit` that is not below `value`. unit > 0; the result must fit.
constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace penstock
