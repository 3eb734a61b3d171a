#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace penstock::k3::oracle {

// A stored tensor as numbers, row-major. A vector has one row.
struct Matrix {
  size_t rows = 0;
  size_t cols = 0;
  std::vector<double> values;

  const double* row(size_t r) const { return values.data() + r * cols; }
};

// Every tensor of a checkpoint directory, decoded to double at once. It shares no code with the
// engine's reader on purpose: a misread offset or nibble must not be able to hide in both.
//
// BF16 and F32 tensors keep their name. `X.weight_packed` (MXFP4, U8) is combined with
// `X.weight_scale` and appears as `X.weight`. A shape [a, b, c...] becomes `a` rows.
// Sources: the safetensors format; OCP Microscaling (MX) specification 1.0.
class Tensors {
 public:
  // Reads model.safetensors.index.json where there is one, else every *.safetensors file. Tensors
  // outside `prefix` (vision, projector) are skipped and the prefix is removed.
  static Result<Tensors> Load(const std::string& directory, std::string_view prefix);

  bool empty() const { return matrices_.empty(); }
  // The tensor, moved out; refuses one that is missing or of another shape.
  Result<Matrix> Take(const std::string& name, size_t rows, size_t cols);
  Result<std::vector<double>> TakeVector(const std::string& name, size_t at_least);

 private:
  std::map<std::string, Matrix, std::less<>> matrices_;
};

// One MXFP4 element: E2M1 code times the group's E8M0 scale. Scale byte 255 is NaN.
double DecodeMxfp4(unsigned code, unsigned scale);

}  // namespace penstock::k3::oracle
