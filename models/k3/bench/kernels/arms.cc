#include "models/k3/bench/kernels/arms.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "models/k3/bench/kernels/accuracy.h"
#include "ops/attention.h"
#include "runtime/check.h"
#include "runtime/measure/streams.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kMostPositions = 4;
constexpr size_t kComparatorParts = 8;  // Slow comparators do so small a part of a matrix.
constexpr size_t kHeads = 96;
constexpr size_t kHead = 128;
constexpr size_t kCached = 4096;  // Positions that latent attention looks back at.

std::string Dimensions(size_t rows, size_t cols) { return fmt::format("{}x{}", rows, cols); }

// As bf16: magnitudes below 2 and no infinity. As E8M0 scales: any byte.
void FillWithWeights(const HugeRegion& memory) {
  uint64_t state = 1;
  for (size_t i = 0; i + sizeof state <= memory.size(); i += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t word = (state ^ (state >> 29)) & 0xbfffbfffbfffbfffu;
    std::memcpy(memory.data() + i, &word, sizeof word);
  }
}

}  // namespace

Result<std::unique_ptr<KernelArms>> KernelArms::Make(const KernelSetting& setting) {
  std::unique_ptr<KernelArms> arms(new KernelArms(setting));
  PENSTOCK_TRY_VOID(arms->MapMemory());
  arms->AddBounds();
  const auto wants = [&](const char* kernel) { return setting.kernels.contains(kernel); };
  if (wants("mxfp4")) {
    arms->AddMxfp4(3072, 3584);
    arms->AddMxfp4(3584, 3072);
  }
  if (wants("bf16")) {
    arms->AddBf16(7168, 7168);
    arms->AddBf16(12288, 7168);
  }
  if (wants("kda")) arms->AddKda();
  if (wants("attention")) arms->AddAttention();
  return arms;
}

Status KernelArms::MapMemory() {
  PENSTOCK_TRY(memory_, HugeRegion::Map(setting_.bytes));
  FillWithWeights(memory_);
  PENSTOCK_TRY(copy_, HugeRegion::Map(setting_.bytes / 2));
  copy_.Touch();
  x_.assign(kMostPositions * 12288, 0.5f);
  y_.assign(kMostPositions * 12288, 0.0f);
  return {};
}

const uint8_t* KernelArms::Next(size_t bytes) {
  PENSTOCK_CHECK(bytes <= memory_.size());
  if (place_ + bytes > memory_.size()) place_ = 0;
  const auto* slice = reinterpret_cast<const uint8_t*>(memory_.data()) + place_;
  place_ += (bytes + 63) / 64 * 64;
  return slice;
}

size_t KernelArms::RowsThatFit(size_t rows, size_t row_bytes) const {
  return std::max<size_t>(kComparatorParts, std::min(rows, setting_.bytes / 2 / row_bytes));
}

void KernelArms::Add(KernelRow row, std::function<void()> work) {
  arms_.push_back({std::move(row), std::move(work)});
}

void KernelArms::AddBounds() {
  const size_t bytes = setting_.bytes / 4 / 64 * 64;
  for (int streams : {1, 4, 8}) {
    KernelRow row;
    row.kernel = fmt::format("read-{}", streams);
    row.bytes = bytes;
    Add(row, [this, bytes, streams] {
      const auto* values = reinterpret_cast<const float*>(Next(bytes));
      // Volatile: the sum must not be dropped with the reading.
      const volatile double sum = SumStreams({values, bytes / sizeof(float)}, streams);
      static_cast<void>(sum);
    });
  }
  KernelRow row;
  row.kernel = "memcpy";
  row.bytes = 2 * bytes;  // Read and written.
  Add(row, [this, bytes] { std::memcpy(copy_.data(), Next(bytes), bytes); });
}

void KernelArms::AddMxfp4(size_t all_rows, size_t cols) {
  const size_t rows = RowsThatFit(all_rows, cols / 2 + cols / 32);
  KernelRow row;
  row.shape = Dimensions(rows, cols);
  row.bytes = rows * (cols / 2 + cols / 32);
  for (size_t positions : {size_t{1}, kMostPositions}) {
    for (const ops::Kernels* kernels : setting_.chosen) {
      AddMxfp4Kernel(*kernels, row, rows, cols, positions);
    }
  }
  inputs_.emplace_back(std::span(x_).first(cols));
  AddMxfp4Comparator("table", Mxfp4TableLookup(), row, rows, cols);
  AddMxfp4Comparator("int8", Mxfp4RoundedToInt8(), row, rows, cols);
  row.bytes /= kComparatorParts;
  AddMxfp4Comparator("plain", Mxfp4PlainDouble, row, rows / kComparatorParts, cols);
}

void KernelArms::AddMxfp4Kernel(const ops::Kernels& kernels, const KernelRow& common, size_t rows,
                                size_t cols, size_t positions) {
  auto& scratch = scratch_.emplace_back(ops::Mxfp4ScratchFloats(cols, positions));
  kernels.mxfp4_prepare(x_.data(), cols, cols, positions, scratch.data());
  KernelRow row = common;
  row.kernel = "mxfp4";
  row.isa = kernels.name;
  row.positions = positions;
  if (positions == 1) row.error = Mxfp4Error(kernels, cols);
  Add(row, [this, &kernels, &scratch, rows, cols, positions] {
    const uint8_t* w = Next(rows * (cols / 2 + cols / 32));
    kernels.matvec_mxfp4(w, w + rows * (cols / 2), rows, cols, scratch.data(), positions, y_.data(),
                         rows);
  });
}

void KernelArms::AddMxfp4Comparator(const std::string& name, Mxfp4Comparator product,
                                    const KernelRow& common, size_t rows, size_t cols) {
  if (product == nullptr) return;
  KernelRow row = common;
  row.kernel = "mxfp4-" + name;
  row.error = Mxfp4Error(product, cols);
  const ComparatorInput& input = inputs_.back();
  Add(row, [this, product, &input, rows, cols] {
    const uint8_t* w = Next(rows * (cols / 2 + cols / 32));
    product({w, w + rows * (cols / 2), rows, cols}, input, y_.data());
  });
}

void KernelArms::AddBf16(size_t all_rows, size_t cols) {
  const size_t rows = RowsThatFit(all_rows, cols * sizeof(uint16_t));
  KernelRow row;
  row.kernel = "bf16";
  row.shape = Dimensions(rows, cols);
  row.bytes = rows * cols * sizeof(uint16_t);
  for (size_t positions : {size_t{1}, kMostPositions}) {
    for (const ops::Kernels* kernels : setting_.chosen) {
      row.isa = kernels->name;
      row.positions = positions;
      Add(row, [this, kernels, rows, cols, positions, bytes = row.bytes] {
        kernels->matvec_bf16(reinterpret_cast<const uint16_t*>(Next(bytes)), rows, cols, x_.data(),
                             cols, positions, y_.data(), rows);
      });
    }
  }
  row.kernel = "bf16-eigen";
  row.isa.clear();
  row.positions = 1;
  row.bytes /= kComparatorParts;
  Add(row, [this, rows, cols, bytes = row.bytes] {
    Bf16EigenCast(reinterpret_cast<const uint16_t*>(Next(bytes)), rows / kComparatorParts, cols,
                  x_.data(), y_.data());
  });
}

// All heads of one layer, from states in memory to others.
void KernelArms::AddKda() {
  const size_t state = kHead * kHead * sizeof(float);
  const size_t heads = std::max<size_t>(1, std::min(kHeads, setting_.bytes / 2 / state));
  KernelRow row;
  row.kernel = "kda";
  row.shape = fmt::format("{}x{}x{}", heads, kHead, kHead);
  row.bytes = 2 * heads * state;
  row.bound = "memcpy";
  for (const ops::Kernels* kernels : setting_.chosen) {
    row.isa = kernels->name;
    Add(row, [this, kernels, heads, state] {
      const auto* before = reinterpret_cast<const float*>(Next(heads * state));
      const size_t layers = std::max<size_t>(1, copy_.size() / (heads * state));
      auto* after = reinterpret_cast<float*>(copy_.data() + place_ / 64 % layers * heads * state);
      for (size_t h = 0; h < heads; ++h) {
        kernels->kda_step(before + h * kHead * kHead, x_.data(), x_.data(), x_.data(), x_.data(),
                          0.5f, kHead, after + h * kHead * kHead, y_.data());
      }
    });
  }
}

// All groups of heads of one layer over the same pages: what is counted is what they read of them.
void KernelArms::AddAttention() {
  constexpr ops::LatentShape kShape{
      .heads = kHeads, .nope = 128, .rope = 64, .value = 128, .latent = 512};
  const size_t page = ops::kPagePositions * kShape.width();
  const size_t count = std::max<size_t>(
      1, std::min(kCached / ops::kPagePositions, setting_.bytes / 4 / (page * sizeof(float))));
  const size_t groups = kHeads / ops::kHeadGroup;
  const size_t kv_b = ops::kHeadGroup * (kShape.nope + kShape.value) * kShape.latent;
  KernelRow row;
  row.kernel = "attention";
  row.shape = fmt::format("{}x{}", kHeads, count * ops::kPagePositions);
  row.bytes =
      groups * (count * ops::kPagePositions * (kShape.width() + kShape.latent) * sizeof(float) +
                kv_b * sizeof(uint16_t));
  auto& pages = scratch_.emplace_back(count * page, 0.1f);
  auto& scratch = scratch_.emplace_back(ops::LatentScratchFloats(kShape));
  auto& projection = scratch_.emplace_back(kv_b / 2, 1.0f);  // As bf16: 0, 1, 0, 1, ...
  for (const ops::Kernels* kernels : setting_.chosen) {
    row.isa = kernels->name;
    Add(row, [this, kernels, kShape, count, page, groups, &pages, &scratch, &projection] {
      std::vector<const float*> all(count);
      for (size_t i = 0; i < count; ++i) all[i] = pages.data() + i * page;
      for (size_t group = 0; group < groups; ++group) {
        const auto* w = reinterpret_cast<const uint16_t*>(projection.data());
        ops::LatentAttention(*kernels, kShape, group, w, x_.data(), all,
                             count * ops::kPagePositions, scratch.data(), y_.data());
      }
    });
  }
}

}  // namespace penstock::k3
