#include "models/k3/bench/codec/codec_arms.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "runtime/size.h"

namespace penstock::k3 {
namespace {

using ops::Codec;
using ops::Store;

constexpr size_t kSlowArmParts = 8;  // Slow arms do one of so many parts.

}  // namespace

Status CodecArms::MapMemory() {
  PENSTOCK_TRY(out_, HugeRegion::Map(weights_.bytes));
  out_.Touch();
  const size_t threads = setting_.many != nullptr ? setting_.many->size() : 1;
  destination_.tile_bytes = RoundUp(2 * setting_.chunk, 4096);
  // Whole huge pages: less would be given small ones.
  PENSTOCK_TRY(tiles_, HugeRegion::Map(RoundUp(threads * destination_.tile_bytes, kHugePageBytes)));
  tiles_.Touch();
  destination_.all = {out_.data(), out_.size()};
  destination_.tiles = {tiles_.data(), tiles_.size()};
  return {};
}

Status CodecArms::PackAll(const std::function<bool(uint64_t, uint64_t)>& go_on) {
  struct Job {
    const char* name;
    Packed& packed;
    std::unique_ptr<Coder> coder;
  };
  Job jobs[] = {{"", raw_, MakeCoder(Codec::kRaw)},
                {"chain", chain_, MakeCoder(Codec::kChain)},
                {"huffman", huffman_, MakeCoder(Codec::kHuffman)},
                {"zstd", zstd_, MakeZstdCoder()}};
  for (uint64_t done = 0; Job & job : jobs) {
    if (!go_on(done++, std::size(jobs))) return Cancelled("stopped while weights were packed");
    if (job.name[0] != '\0' && !Wants(job.name)) continue;
    PENSTOCK_TRY_VOID(
        Pack(weights_, weights_.stripes.size(), setting_.chunk, *job.coder, job.packed));
  }
  return {};
}

// The first chunks that make up a part of the weights.
size_t CodecArms::Part(const Packed& packed) const {
  return std::max<size_t>(1, packed.chunks.size() / kSlowArmParts);
}

CodecArm& CodecArms::Add(const std::string& codec, const std::string& isa, const Packed& packed) {
  CodecArm& arm = arms_.emplace_back();
  arm.row.codec = codec;
  arm.row.isa = isa;
  arm.row.data = weights_.name;
  arm.row.ratio = packed.ratio();
  return arm;
}

void CodecArms::AddUnpacking(const UnpackWork& unpack, const std::string& isa) {
  Unpacking& unpacking = unpackings_.emplace_back(unpack, setting_.alone, destination_);
  CodecArm& arm = Add(unpack.name, isa, *unpack.packed);
  arm.row.checksum = unpack.checksum;
  arm.row.bytes = unpacking.weight_bytes();
  arm.run = Timed(Clock::kThreadCpu, [&unpacking] { unpacking.Run(); });
  arm.check = [&unpacking] { return unpacking.Check(); };
}

// One row each for one thread and many by the wall, and for many by the busiest of them.
void CodecArms::AddThreads(const UnpackWork& unpack, const std::string& isa) {
  const auto name = [](const std::string& codec, size_t threads) {
    return fmt::format("{} x{} threads", codec, threads);
  };
  const auto add = [&](Team& team, const std::string& clock) -> CodecArm& {
    Unpacking& unpacking = unpackings_.emplace_back(unpack, team, destination_);
    const std::string suffix = clock == "wall" ? "" : " cpu";
    CodecArm& arm = Add(name(unpack.name, team.size()) + suffix, isa, *unpack.packed);
    arm.row.threads = team.size();
    arm.row.clock = clock;
    arm.row.bytes = unpacking.weight_bytes();
    arm.memcpy_row = name("memcpy", team.size()) + suffix;
    arm.check = [&unpacking] { return unpacking.Check(); };
    arm.run = clock == "wall"
                  ? Timed(Clock::kWall, [&unpacking] { unpacking.Run(); })
                  : std::function<double()>([&unpacking] { return unpacking.RunEqualParts(); });
    return arm;
  };
  add(setting_.alone, "wall");
  add(*setting_.many, "wall").one_thread_row = name(unpack.name, 1);
  add(*setting_.many, "busiest").one_thread_row = unpack.name;
}

void CodecArms::AddEncode(const std::string& name, Codec codec, const Packed& packed) {
  Coder& coder = *coders_.emplace_back(MakeCoder(codec));
  Packed& encoded = encoded_.emplace_back();
  const size_t stripes = std::max<size_t>(1, weights_.stripes.size() / kSlowArmParts);
  CodecArm& arm = Add(name, "", packed);
  for (size_t i = 0; i < stripes; ++i) arm.row.bytes += weights_.stripes[i].size();
  const auto encode = [this, stripes, &coder, &encoded] {
    return Pack(weights_, stripes, setting_.chunk, coder, encoded);
  };
  arm.run = Timed(Clock::kThreadCpu, [encode] { static_cast<void>(encode()); });
  // What `packed` holds is known to decode to the weights: its own arm checks that.
  arm.check = [encode, name, &encoded, &packed]() -> Status {
    PENSTOCK_TRY_VOID(encode());
    for (size_t i = 0; i < encoded.chunks.size(); ++i) {
      if (encoded.chunks[i].sum == packed.chunks[i].sum) continue;
      return Unsound(fmt::format("{}: chunk {} has other bytes when it is encoded again", name, i));
    }
    return {};
  };
}

void CodecArms::AddMemcpy() {
  AddUnpacking({.name = "memcpy", .packed = &raw_, .decoder = Copies()}, "");
  CodecArm& arm = Add("memcpy-whole", "", raw_);
  arm.row.bytes = weights_.bytes;
  arm.run = Timed(Clock::kThreadCpu,
                  [this] { std::memcpy(out_.data(), weights_.memory.data(), weights_.bytes); });
  arm.check = [this]() -> Status {
    std::memset(out_.data(), ~static_cast<int>(weights_.memory.data()[0]), weights_.bytes);
    std::memcpy(out_.data(), weights_.memory.data(), weights_.bytes);
    if (std::memcmp(out_.data(), weights_.memory.data(), weights_.bytes) == 0) return {};
    return Unsound("memcpy-whole: the copy differs from what was copied");
  };
}

void CodecArms::AddChosen() {
  struct Choice {
    std::string name;
    Codec codec;
    const Packed& packed;
    std::string isa;
  };
  const ops::CodecKernels& chosen = setting_.chosen;
  const Choice choices[] = {{"raw", Codec::kRaw, raw_, ""},
                            {"chain", Codec::kChain, chain_, chosen.chain->name},
                            {"huffman", Codec::kHuffman, huffman_, chosen.huffman->name}};
  for (const Choice& choice : choices) {
    if (!Wants(choice.name)) continue;
    UnpackWork unpack{.name = choice.name,
                      .packed = &choice.packed,
                      .decoder = KernelDecoder(choice.codec, chosen, Store::kStreaming)};
    AddUnpacking(unpack, choice.isa);
    unpack.checksum = true;
    unpack.name = choice.name + "+sum";
    AddUnpacking(unpack, choice.isa);
    if (choice.codec == Codec::kRaw) continue;
    AddUnpacking({.name = choice.name + "-tile",
                  .packed = &choice.packed,
                  .decoder = KernelDecoder(choice.codec, chosen, Store::kCached),
                  .tile = true},
                 choice.isa);
    AddEncode(choice.name + "-encode", choice.codec, choice.packed);
  }
}

void CodecArms::AddChainKernels() {
  if (!Wants("chain")) return;
  for (const ops::chain::Kernels* kernels : ops::ChainKernelsHere()) {
    AddUnpacking({.name = fmt::format("chain-{}", kernels->name),
                  .packed = &chain_,
                  .decoder = KernelDecoder(Codec::kChain, {kernels, setting_.chosen.huffman},
                                           Store::kStreaming)},
                 kernels->name);
  }
}

void CodecArms::AddHuffmanKernels() {
  if (!Wants("huffman")) return;
  for (const ops::huffman::Kernels* kernels : ops::HuffmanKernelsHere()) {
    AddUnpacking({.name = fmt::format("huffman-{}", kernels->name),
                  .packed = &huffman_,
                  .decoder = KernelDecoder(Codec::kHuffman, {setting_.chosen.chain, kernels},
                                           Store::kStreaming)},
                 kernels->name);
  }
  AddUnpacking({.name = "huffman-plain",
                .packed = &huffman_,
                .chunks = Part(huffman_),
                .decoder = PlainHuffman()},
               "");
}

void CodecArms::AddZstd() {
  if (!Wants("zstd")) return;
  AddUnpacking({.name = "zstd-1", .packed = &zstd_, .decoder = ZstdDecoder()}, "");
}

void CodecArms::AddManyThreads() {
  if (setting_.many == nullptr) return;
  const ops::CodecKernels& chosen = setting_.chosen;
  AddThreads({.name = "memcpy", .packed = &raw_, .decoder = Copies()}, "");
  const auto add = [&](const std::string& name, Codec codec, const Packed& packed,
                       const std::string& isa) {
    if (!Wants(name)) return;
    AddThreads({.name = name,
                .packed = &packed,
                .decoder = KernelDecoder(codec, chosen, Store::kStreaming)},
               isa);
  };
  add("raw", Codec::kRaw, raw_, "");
  add("chain", Codec::kChain, chain_, chosen.chain->name);
  add("huffman", Codec::kHuffman, huffman_, chosen.huffman->name);
}

Status CodecArms::Prepare(const std::function<bool(uint64_t, uint64_t)>& go_on) {
  PENSTOCK_TRY_VOID(MapMemory());
  PENSTOCK_TRY_VOID(PackAll(go_on));
  AddMemcpy();
  AddChosen();
  AddChainKernels();
  AddHuffmanKernels();
  AddZstd();
  AddManyThreads();
  return {};
}

}  // namespace penstock::k3
