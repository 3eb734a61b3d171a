#include "models/k3/bench/codec/unpacking.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "io/pack/sum/sum.h"
#include "runtime/check.h"
#include "runtime/measure/clock.h"

namespace penstock::k3 {
namespace {

// Chunks that a thread takes at a time.
constexpr size_t kTurn = 8;

std::span<const PackedChunk> ChunksOf(const UnpackWork& unpack) {
  const std::span all = std::span(unpack.packed->chunks);
  return unpack.chunks == 0 ? all : all.first(std::min(unpack.chunks, all.size()));
}

}  // namespace

Unpacking::Unpacking(UnpackWork unpack, Team& team, Destination destination)
    : unpack_(std::move(unpack)),
      team_(team),
      destination_(destination),
      chunks_(ChunksOf(unpack_)),
      members_(team.size()) {
  for (Member& member : members_) member.decoder = unpack_.decoder();
  for (const PackedChunk& chunk : chunks_) weight_bytes_ += chunk.weights.size();
}

std::span<std::byte> Unpacking::PlaceOf(size_t member, const PackedChunk& chunk) const {
  if (unpack_.tile) {
    return destination_.tiles.subspan(member * destination_.tile_bytes, chunk.weights.size());
  }
  const auto at = static_cast<size_t>(chunk.weights.data() - chunks_.front().weights.data());
  return destination_.all.subspan(at, chunk.weights.size());
}

// What is wrong, or null.
const char* Unpacking::DecodeOne(Member& me, const PackedChunk& chunk,
                                 std::span<std::byte> out) const {
  if (me.stripe != chunk.stripe) {
    if (!me.decoder->Begin(unpack_.packed->codes[chunk.stripe])) return "has a code that is none";
    me.stripe = chunk.stripe;
  }
  if (unpack_.checksum && io::SumOf(chunk.stored) != chunk.sum) {
    return "does not have its checksum";
  }
  return me.decoder->Decode(chunk.stored, out) ? nullptr : "is refused by its decoder";
}

void Unpacking::Blame(size_t chunk, const char* what) {
  const std::lock_guard lock(mutex_);
  if (!fault_.empty()) return;
  fault_ = fmt::format("{}: chunk {} of {}, {} elements stored in {} bytes, {}", unpack_.name,
                       chunk, chunks_.size(), chunks_[chunk].weights.size() / 2,
                       chunks_[chunk].stored.size(), what);
}

void Unpacking::Work(size_t member, size_t first, size_t last) {
  Member& me = members_[member];
  for (size_t i = first; i < last; ++i) {
    const PackedChunk& chunk = chunks_[i];
    const std::span<std::byte> out = PlaceOf(member, chunk);
    // What an earlier run left there must not pass for what this one writes.
    if (comparing_) std::memset(out.data(), ~static_cast<int>(chunk.weights[0]), out.size());
    const char* wrong = DecodeOne(me, chunk, out);
    if (comparing_ && wrong == nullptr &&
        std::memcmp(out.data(), chunk.weights.data(), out.size()) != 0) {
      wrong = "decodes to other weights";
    }
    if (wrong != nullptr) Blame(i, wrong);
  }
}

void Unpacking::TakeTurns(size_t member) {
  members_[member].stripe.reset();
  for (size_t at = next_.fetch_add(kTurn); at < chunks_.size(); at = next_.fetch_add(kTurn)) {
    Work(member, at, std::min(at + kTurn, chunks_.size()));
  }
}

void Unpacking::Run() {
  next_ = 0;
  team_.Run([this](size_t member) { TakeTurns(member); });
}

double Unpacking::RunEqualParts() {
  team_.Run([this](size_t member) {
    const uint64_t start = NowNs(Clock::kThreadCpu);
    members_[member].stripe.reset();
    Work(member, chunks_.size() * member / team_.size(),
         chunks_.size() * (member + 1) / team_.size());
    members_[member].cpu_ns = static_cast<double>(NowNs(Clock::kThreadCpu) - start);
  });
  double most = 0;
  for (const Member& member : members_) most = std::max(most, member.cpu_ns);
  return most;
}

Status Unpacking::Check() {
  comparing_ = true;
  Run();
  comparing_ = false;
  const std::lock_guard lock(mutex_);
  return fault_.empty() ? Status() : Unsound(fault_);
}

}  // namespace penstock::k3
