#include "runtime/cpu/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace penstock {
namespace {

std::optional<unsigned> ParseCpu(std::string_view text) {
  unsigned cpu = 0;
  const char* last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), last, cpu);
  if (failure != std::errc() || end != last || cpu > kMaxCpuId) return std::nullopt;
  return cpu;
}

// Adds the CPUs of "3" or "2-5"; false when it is neither.
bool AppendRange(std::string_view text, std::vector<unsigned>& cpus) {
  const size_t dash = text.find('-');
  const auto first = ParseCpu(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ParseCpu(text.substr(dash + 1));
  if (!first || !last || *last < *first) return false;
  for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  return true;
}

void SortAndUnite(std::vector<unsigned>& cpus) {
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
}

}  // namespace

bool CpuSet::Contains(unsigned cpu) const {
  return std::binary_search(cpus.begin(), cpus.end(), cpu);
}

bool CpuSet::ContainsAll(const CpuSet& other) const {
  return std::includes(cpus.begin(), cpus.end(), other.cpus.begin(), other.cpus.end());
}

Result<CpuSet> ParseCpuList(std::string_view text) {
  CpuSet set;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    // A hostile list may repeat a full range many times over.
    if (set.cpus.size() > 2 * kMaxCpuId) SortAndUnite(set.cpus);
    if (!AppendRange(rest.substr(0, comma), set.cpus)) {
      return Refused(fmt::format(
          "expected a list of CPUs such as 0,2-3 (numbers up to {}), got \"{}\"", kMaxCpuId, text));
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  SortAndUnite(set.cpus);
  return set;
}

std::string FormatCpuList(const CpuSet& set) {
  std::string out;
  for (size_t i = 0; i < set.cpus.size();) {
    size_t last = i;
    while (last + 1 < set.cpus.size() && set.cpus[last + 1] == set.cpus[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += fmt::format("{}", set.cpus[i]);
    if (last > i) out += fmt::format("-{}", set.cpus[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace penstock
