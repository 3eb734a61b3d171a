#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/reader.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::io {

enum class Dtype : uint8_t { kBool, kU8, kI8, kF8E4M3, kF8E5M2, kI16, kU16, kF16, kBF16, kI32, kU32, kF32, kI64, kU64, kF64 };
size_t DtypeBytes(Dtype dtype);
std::string_view DtypeName(Dtype dtype);  // As safetensors spells it.

struct TensorInfo {
  std::string_view name;  // Owned by the checkpoint.
  Dtype dtype = Dtype::kU8;
  std::vector<uint64_t> shape;
  Extent extent;  // Absolute offset in the file; extent.file indexes Checkpoint::files().
};

// The tensors of a directory of safetensors files, from headers and index alone: no weight is read.
// With model.safetensors.index.json the index alone decides which file a tensor comes from.
// Everything is checked before it is believed (io/safetensors.h lists the contracts).
class Checkpoint {
 public:
  static Result<std::unique_ptr<Checkpoint>> Open(const std::string& directory, const Notice& notice);

  const std::string& directory() const { return directory_; }
  const std::vector<std::string>& files() const { return files_; }  // Absolute paths.
  std::span<const TensorInfo> tensors() const { return tensors_; }  // Sorted by name.
  const TensorInfo* Find(std::string_view name) const;

  // XXH3-128 over the text config, every shard's header and sampled blocks (DESIGN 6), 32 hex digits.
  Result<std::string> Identity() const;

 private:
  Checkpoint() = default;
  std::string directory_;
  std::vector<std::string> files_;
  std::vector<TensorInfo> tensors_;
  std::vector<char> names_;
};

}  // namespace penstock::io
