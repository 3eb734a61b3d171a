// The index of a checkpoint. No accepted file name may lead out of the directory.
// covers: io/safetensors/index io/safetensors/names

#include <cstdint>
#include <string>
#include <string_view>

#include "io/safetensors/index.h"
#include "runtime/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto status = penstock::io::ParseIndex(
      json, "fuzz.index.json", [](std::string_view, std::string_view file) -> penstock::Status {
        PENSTOCK_CHECK(!file.empty() && file.find('\0') == std::string_view::npos);
        const std::string framed = "/" + std::string(file) + "/";
        PENSTOCK_CHECK(framed.find("//") == std::string::npos);
        PENSTOCK_CHECK(framed.find("/../") == std::string::npos);
        return {};
      });
  PENSTOCK_CHECK(status || !status.error().message.empty());
  return 0;
}
