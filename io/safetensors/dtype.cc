#include "io/safetensors/dtype.h"

#include <array>

namespace penstock::io {
namespace {

struct Row {
  std::string_view name;
  uint8_t bytes;
};

// In the order of the enum.
constexpr std::array<Row, 17> kRows = {{{"BOOL", 1},
                                        {"U8", 1},
                                        {"I8", 1},
                                        {"F8_E4M3", 1},
                                        {"F8_E5M2", 1},
                                        {"F8_E8M0", 1},
                                        {"I16", 2},
                                        {"U16", 2},
                                        {"F16", 2},
                                        {"BF16", 2},
                                        {"I32", 4},
                                        {"U32", 4},
                                        {"F32", 4},
                                        {"I64", 8},
                                        {"U64", 8},
                                        {"F64", 8},
                                        {"C64", 8}}};
static_assert(kRows.size() == static_cast<size_t>(Dtype::kC64) + 1);

}  // namespace

size_t DtypeBytes(Dtype dtype) { return kRows[static_cast<size_t>(dtype)].bytes; }

std::string_view DtypeName(Dtype dtype) { return kRows[static_cast<size_t>(dtype)].name; }

std::optional<Dtype> DtypeOf(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

}  // namespace penstock::io
