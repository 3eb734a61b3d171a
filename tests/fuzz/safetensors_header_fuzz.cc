// The header of a safetensors file. What is accepted must keep the promises that readers of
// weights rely on: tensors tile the data, and each has the bytes its shape and dtype say.
// covers: io/safetensors/header io/safetensors/names io/safetensors/dtype

#include <cstdint>
#include <string_view>

#include "io/safetensors/header.h"
#include "runtime/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::io;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  for (const uint64_t data_bytes : {uint64_t{0}, uint64_t{16}}) {
    const auto header = ParseSafetensorsHeader(json, data_bytes, "fuzz.safetensors");
    if (!header) {
      PENSTOCK_CHECK(!header.error().message.empty());
      continue;
    }
    uint64_t at = 0;
    for (const auto& tensor : header->tensors) {
      PENSTOCK_CHECK(tensor.begin == at && tensor.end >= tensor.begin);
      at = tensor.end;
      uint64_t bytes = DtypeBytes(tensor.dtype);
      for (const uint64_t extent : header->shape(tensor)) bytes *= extent;
      PENSTOCK_CHECK(bytes == tensor.end - tensor.begin);
      PENSTOCK_CHECK(!header->name(tensor).empty() || tensor.name_bytes == 0);
    }
    PENSTOCK_CHECK(at == data_bytes);
  }
  return 0;
}
