#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/reader.h"
#include "io/safetensors/dtype.h"
#include "io/safetensors/identity.h"
#include "io/safetensors/names.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::io {

// One tensor of a checkpoint. A small value; its views belong to the checkpoint.
struct TensorInfo {
  std::string_view group;  // The name in two parts (io/safetensors/names.h): group + leaf.
  std::string_view leaf;
  Dtype dtype = Dtype::kU8;
  std::span<const uint64_t> shape;
  Extent extent;  // Absolute offset in the file; extent.file indexes Checkpoint::files().

  std::string name() const { return std::string(group).append(leaf); }
};

// The tensors of a directory of safetensors files, from headers and index alone: no weight is read.
//
// With model.safetensors.index.json the index alone decides which file a tensor comes from: each
// of its files must be there and whole, each of its tensors must be in the file it names. The same
// name in another file of the directory, listed or not, is reported in one notice and never read.
// Tensors that the index does not name are not part of the checkpoint. Without an index every
// *.safetensors file of the directory counts, and the same name in two of them is refused.
// Everything is checked before it is believed (io/safetensors/header.h and io/safetensors/index.h
// list the contracts).
//
// Half a million tensors take about 44 bytes each: shapes and names are shared.
// Threads: immutable after Open.
class Checkpoint {
 public:
  static Result<std::unique_ptr<Checkpoint>> Open(const std::string& directory,
                                                  const Notice& notice);

  const std::string& directory() const { return directory_; }
  const std::vector<std::string>& files() const { return files_; }  // Absolute paths, sorted.
  bool has_index() const { return has_index_; }

  size_t size() const { return entries_.size(); }  // Tensors.
  // In byte order of (group, leaf): the tensors of one layer or expert are neighbours.
  TensorInfo tensor(size_t i) const;
  std::optional<TensorInfo> Find(std::string_view name) const;

  // The identity of these weights, 32 hex digits (io/safetensors/identity.h says what goes into
  // it). Reads 64 KiB of each file. kFailed when the device does.
  Result<std::string> Identity() const;

  // Memory that the tables of tensors, names and shapes take.
  size_t table_bytes() const;

 private:
  friend class CheckpointReader;

  struct Entry {
    uint64_t offset = 0;
    TensorNames::Id name;
    uint32_t file = 0;
    uint32_t shape = 0;  // In shapes_.
    Dtype dtype = Dtype::kU8;
  };
  static_assert(sizeof(Entry) <= 32);

  struct ShapeEntry {
    uint64_t elements = 0;
    uint32_t dims_begin = 0;  // In dims_.
    uint32_t rank = 0;
  };

  Checkpoint() = default;

  std::string directory_;
  bool has_index_ = false;
  std::vector<std::string> files_;
  std::vector<ShardIdentity> shards_;  // [files]
  std::vector<Entry> entries_;         // In order of name.
  TensorNames names_;
  std::vector<ShapeEntry> shapes_;
  std::vector<uint64_t> dims_;
};

}  // namespace penstock::io
