#include "io/device_stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/check.h"

namespace penstock::io {
namespace {

using Edges = std::array<uint64_t, LatencyHistogram::kBuckets>;

// The first time that is too long for each bucket, in ns.
const Edges& BucketEdges() {
  static const Edges edges = [] {
    Edges out{};
    for (size_t b = 0; b < out.size(); ++b) {
      out[b] = static_cast<uint64_t>(1000 * std::exp2(static_cast<double>(b + 1) / 4));
    }
    return out;
  }();
  return edges;
}

}  // namespace

std::string_view ReadClassName(ReadClass read_class) {
  constexpr std::string_view kNames[] = {"demanded", "trunk", "predicted"};
  return kNames[static_cast<size_t>(read_class)];
}

void LatencyHistogram::Add(uint64_t ns) {
  const Edges& edges = BucketEdges();
  const auto bucket = std::upper_bound(edges.begin(), edges.end() - 1, ns) - edges.begin();
  ++counts[static_cast<size_t>(bucket)];
}

uint64_t LatencyHistogram::total() const {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

uint64_t LatencyHistogram::Percentile(double q) const {
  PENSTOCK_CHECK(q > 0 && q <= 1);
  const double all = static_cast<double>(total());
  if (all == 0) return 0;
  const auto rank = std::max<uint64_t>(static_cast<uint64_t>(std::ceil(q * all)), 1);
  uint64_t below = 0;
  size_t bucket = 0;
  while (below + counts[bucket] < rank) below += counts[bucket++];
  return BucketEdges()[bucket];
}

LatencyHistogram LatencyHistogram::Since(const LatencyHistogram& earlier) const {
  LatencyHistogram out;
  for (size_t b = 0; b < kBuckets; ++b) out.counts[b] = counts[b] - earlier.counts[b];
  return out;
}

DeviceStats DeviceStats::Since(const DeviceStats& earlier) const {
  DeviceStats out = *this;
  out.payload_bytes -= earlier.payload_bytes;
  out.device_bytes -= earlier.device_bytes;
  out.reads -= earlier.reads;
  out.busy_ns -= earlier.busy_ns;
  out.full_ns -= earlier.full_ns;
  out.depth_bytes_ns -= earlier.depth_bytes_ns;
  for (size_t c = 0; c < latency.size(); ++c) out.latency[c] = latency[c].Since(earlier.latency[c]);
  return out;
}

double DeviceStats::MeanDepthBytes(uint64_t wall_ns) const {
  if (wall_ns == 0) return 0;
  return static_cast<double>(depth_bytes_ns) * 1024 * 1000 / static_cast<double>(wall_ns);
}

}  // namespace penstock::io
