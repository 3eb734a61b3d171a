#include "models/k3/census/tensor_list.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace penstock::k3 {
namespace {

// The text itself, or its JSON form without quotes where it would break the table.
std::string OneCell(const std::string& text) {
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

std::string TensorList(const io::Checkpoint& checkpoint) {
  std::string out = "name\tdtype\tshape\tfile\toffset\tbytes\n";
  for (size_t i = 0; i < checkpoint.size(); ++i) {
    const io::TensorInfo tensor = checkpoint.tensor(i);
    const std::string file =
        std::filesystem::path(checkpoint.files()[tensor.extent.file]).filename().string();
    out += fmt::format("{}\t{}\t[{}]\t{}\t{}\t{}\n", OneCell(tensor.name()),
                       io::DtypeName(tensor.dtype), fmt::join(tensor.shape, ", "), OneCell(file),
                       tensor.extent.offset, tensor.extent.bytes);
  }
  return out;
}

}  // namespace penstock::k3
