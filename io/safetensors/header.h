#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors/dtype.h"
#include "io/safetensors/regular_file.h"
#include "runtime/result.h"

namespace penstock::io {

// The header of one safetensors file: an 8-byte little-endian length n, n bytes of JSON, then the
// data. Each entry of the JSON object names a tensor with its dtype, its shape and its byte range
// relative to the first byte behind the header. (Format: github.com/huggingface/safetensors.)
//
// Contracts, each checked before anything is allocated or read because of it; one that does not
// hold is kRefused with file, tensor, expected and got:
//   1. The file has 8 bytes; n is at least 2, at most kMaxHeaderBytes, at most the file's size - 8.
//   2. The header is one JSON object in valid UTF-8, starts with '{', and only white space pads it.
//   3. No key occurs twice, escapes decoded ("\u0061" is "a"): no tensor, none inside a tensor's
//      entry, not `__metadata__` and none inside it. `__metadata__` maps strings to strings.
//   4. A tensor has exactly dtype, shape and data_offsets; the dtype is one of
//   io/safetensors/dtype.h; the
//      shape has at most kMaxRank whole numbers; the offsets are two whole numbers, begin <= end.
//   5. end - begin is the product of the shape times the size of the dtype, without overflow.
//   6. Sorted by offset the tensors tile the data: the first begins at 0, each next one where the
//      one before it ends, the last ends with the file. No gap, no overlap, nothing behind.
//   7. Names hold no control characters (io/safetensors/names.h).
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // As the format's own library has it.
inline constexpr size_t kMaxRank = 32;

struct SafetensorsHeader {
  struct Tensor {
    uint64_t begin = 0;  // In the data, behind the header.
    uint64_t end = 0;
    uint32_t name_begin = 0;  // In `names`.
    uint32_t name_bytes = 0;
    uint32_t dims_begin = 0;  // In `dims`.
    uint8_t rank = 0;
    Dtype dtype = Dtype::kU8;
  };

  std::vector<Tensor> tensors;  // In order of offset.
  std::string names;
  std::vector<uint64_t> dims;
  uint64_t data_begin = 0;  // Where the data starts in the file; set by ReadSafetensorsHeader.
  uint64_t data_bytes = 0;
  std::string hash;  // XXH3-128 of length and JSON, 16 bytes; set by ReadSafetensorsHeader.

  std::string_view name(const Tensor& tensor) const {
    return std::string_view(names).substr(tensor.name_begin, tensor.name_bytes);
  }
  std::vector<uint64_t> shape(const Tensor& tensor) const {
    const auto first = dims.begin() + tensor.dims_begin;
    return {first, first + tensor.rank};
  }
};

// Parses the JSON of a header whose file has `data_bytes` of data; `file` is for messages. Checks
// contracts 2 to 7. Re-entrant.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, uint64_t data_bytes,
                                                 std::string_view file);

// Reads and parses the header of `file`, and nothing else of it. Checks every contract.
Result<SafetensorsHeader> ReadSafetensorsHeader(const RegularFile& file);

}  // namespace penstock::io
