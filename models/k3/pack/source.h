#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/pack.h"
#include "io/reader.h"
#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"
#include "ops/codec/element.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Where the elements of one stripe are, as the source stores them.
struct SourceStripe {
  io::Extent extent;
  uint32_t chunk_elements = 1;
};

// What a pack is made from: files, the tensors that are packed, and how they are cut.
struct PackSource {
  std::string kind;  // "trunk" or "file", as PackParameters has it.
  std::string identity;
  std::string name;
  std::vector<std::string> files;  // SourceStripe::extent.file is the index.
  std::vector<io::PackTensor> tensors;
  std::vector<io::PlannedStripe> plan;
  std::vector<SourceStripe> stripes;  // As plan.

  ops::Element ElementOf(size_t stripe) const {
    return static_cast<ops::Element>(tensors[plan[stripe].tensor].element);
  }
  uint64_t raw_bytes() const;
  uint64_t largest_stripe() const;  // Raw bytes.
};

// The trunk of a checkpoint in order of use, the head last: what `generate --pack` reads.
Result<PackSource> TrunkSource(const std::string& directory, uint64_t stripe_bytes,
                               const Notice& notice);

// One safetensors file, every byte of it: its header as a tensor named "__metadata__" (a name that no
// tensor can have), then its tensors in the order of their data. Elements of BF16, F16, F8_E4M3,
// F8_E5M2 and F32 are split, those of other dtypes are bytes.
Result<PackSource> FileSource(const std::string& path, uint64_t stripe_bytes);

}  // namespace penstock::k3
