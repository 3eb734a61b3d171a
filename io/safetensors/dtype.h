#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock::io {

// The element types of the safetensors format whose elements are whole bytes.
enum class Dtype : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kI64,
  kU64,
  kF64,
  kC64
};

size_t DtypeBytes(Dtype dtype);           // Bytes of one element.
std::string_view DtypeName(Dtype dtype);  // As safetensors spells it.

// The dtype of that spelling; nothing for one this program does not know.
std::optional<Dtype> DtypeOf(std::string_view name);

}  // namespace penstock::io
