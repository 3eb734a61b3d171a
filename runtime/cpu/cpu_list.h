#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace penstock {

inline constexpr unsigned kMaxCpuId = 8191;  // The kernel's CONFIG_NR_CPUS ends at 8192.

// CPUs by the kernel's numbers, ascending, without repeats.
struct CpuSet {
  std::vector<unsigned> cpus;

  size_t size() const { return cpus.size(); }
  bool empty() const { return cpus.empty(); }
  bool Contains(unsigned cpu) const;
  bool ContainsAll(const CpuSet& other) const;
  friend bool operator==(const CpuSet&, const CpuSet&) = default;
};

// Reads "0,2-3", the form of taskset and /sys. Empty entries, backward ranges, CPUs above kMaxCpuId
// and junk are refused; so is an empty list.
Result<CpuSet> ParseCpuList(std::string_view text);

// The shortest list that reads back to the same set.
std::string FormatCpuList(const CpuSet& set);

}  // namespace penstock
