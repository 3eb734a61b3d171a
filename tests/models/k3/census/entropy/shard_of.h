#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/io/safetensors/shard.h"

namespace penstock::k3 {

struct PlainTensor {
  std::string name;
  std::string dtype;
  std::string shape;  // "2, 3"
  std::string data;
};

// A safetensors file of these tensors.
inline std::string ShardOf(const std::vector<PlainTensor>& tensors) {
  std::string json = "{", data;
  for (const PlainTensor& tensor : tensors) {
    json += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        json.size() > 1 ? "," : "", tensor.name, tensor.dtype, tensor.shape,
                        data.size(), data.size() + tensor.data.size());
    data += tensor.data;
  }
  return io::ShardBytes(json + "}", data);
}

}  // namespace penstock::k3
