#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "models/k3/bench/kernels/comparators.h"
#include "models/k3/bench/kernels/rows.h"
#include "ops/isa.h"
#include "runtime/memory/region.h"
#include "runtime/result.h"

namespace penstock::k3 {

// A body that is measured, here and by Google Benchmark: what stands in its row before there is a
// result, and what one run does.
struct KernelArm {
  KernelRow row;
  std::function<void()> work;
};

struct KernelSetting {
  std::set<std::string> kernels;            // Of mxfp4, bf16, kda, attention.
  std::vector<const ops::Kernels*> chosen;  // Each is measured.
  size_t bytes = 0;                         // Memory that weights are streamed from, in rotation.
};

// The arms of kernels.h, with the memory they work in: random weights on huge pages where there are
// any. A matrix of a released shape that would take more than half of it has fewer rows. The arms
// refer to this object.
class KernelArms {
 public:
  static Result<std::unique_ptr<KernelArms>> Make(const KernelSetting& setting);
  KernelArms(const KernelArms&) = delete;
  KernelArms& operator=(const KernelArms&) = delete;

  const std::vector<KernelArm>& arms() const { return arms_; }

 private:
  struct Input;

  explicit KernelArms(const KernelSetting& setting) : setting_(setting) {}
  Status MapMemory();
  // The next so many bytes: a place returns when all others were used.
  const uint8_t* Next(size_t bytes);
  size_t RowsThatFit(size_t rows, size_t row_bytes) const;

  void Add(KernelRow row, std::function<void()> work);
  void AddBounds();
  void AddMxfp4(size_t rows, size_t cols);
  void AddMxfp4Kernel(const ops::Kernels& kernels, const KernelRow& row, size_t rows, size_t cols,
                      size_t positions);
  void AddMxfp4Comparator(const std::string& name, Mxfp4Comparator product, const KernelRow& row,
                          size_t rows, size_t cols);
  void AddBf16(size_t rows, size_t cols);
  void AddKda();
  void AddAttention();

  const KernelSetting setting_;
  HugeRegion memory_, copy_;
  size_t place_ = 0;
  std::vector<float> x_, y_;
  std::deque<std::vector<float>> scratch_;
  std::deque<ComparatorInput> inputs_;
  std::vector<KernelArm> arms_;
};

}  // namespace penstock::k3
