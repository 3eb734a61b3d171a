#include "models/k3/bench/codec/packed.h"

#include <algorithm>

#include "io/pack/sum/sum.h"
#include "runtime/check.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kChunkAlignment = 64;

std::vector<std::span<const std::byte>> Cut(std::span<const std::byte> stripe, size_t bytes) {
  std::vector<std::span<const std::byte>> out;
  for (size_t at = 0; at < stripe.size(); at += bytes) {
    out.push_back(stripe.subspan(at, std::min(bytes, stripe.size() - at)));
  }
  return out;
}

}  // namespace

Status Pack(const Weights& weights, size_t stripes, size_t chunk_elements, Coder& coder,
            Packed& out) {
  PENSTOCK_CHECK(stripes <= weights.stripes.size());
  const std::span all = std::span(weights.stripes).first(stripes);
  size_t most = ops::kCodecSlack;
  for (const auto& stripe : all) {
    for (const auto& chunk : Cut(stripe, 2 * chunk_elements)) {
      most += RoundUp(coder.MostBytes(chunk.size() / 2), kChunkAlignment);
    }
  }
  if (out.memory.size() != most) {
    PENSTOCK_TRY(out.memory, HugeRegion::Map(most));
  }
  out.chunks.clear();
  out.codes.clear();
  out.weight_bytes = 0;
  size_t at = 0, code_bytes = 0;
  const std::span memory(out.memory.data(), most);
  for (uint32_t number = 0; number < stripes; ++number) {
    coder.Begin(all[number]);
    out.codes.emplace_back(coder.code().begin(), coder.code().end());
    code_bytes += coder.code().size();
    for (const auto& chunk : Cut(all[number], 2 * chunk_elements)) {
      const auto room = memory.subspan(at, coder.MostBytes(chunk.size() / 2));
      const auto stored = room.first(coder.Encode(chunk, room));
      out.chunks.push_back({stored, chunk, io::SumOf(stored), number});
      out.weight_bytes += chunk.size();
      at += RoundUp(stored.size(), kChunkAlignment);
    }
  }
  out.stored_bytes = at + code_bytes;
  return {};
}

}  // namespace penstock::k3
