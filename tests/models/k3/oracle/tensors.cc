#include "tests/models/k3/oracle/tensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace penstock::k3::oracle {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<unsigned char>;

constexpr size_t kGroup = 32;  // Columns that share one scale.

struct Stored {
  std::string dtype;
  std::vector<size_t> shape;
  Bytes bytes;
};
using StoredTensors = std::map<std::string, Stored, std::less<>>;

Result<Bytes> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Refused("cannot open " + path.string());
  Bytes bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) return Failed("cannot read " + path.string());
  return bytes;
}

// Adds the tensors of one file that `wanted` names (all of them when it is null).
Result<void> AddFile(const fs::path& path, std::string_view prefix,
                     const std::set<std::string>* wanted, StoredTensors* out) {
  PENSTOCK_TRY(Bytes bytes, ReadFile(path));
  uint64_t header = 0;
  if (bytes.size() < 8) return Refused(path.string() + " is too short for safetensors");
  for (int i = 7; i >= 0; --i) header = header << 8 | bytes[static_cast<size_t>(i)];
  if (header > bytes.size() - 8) return Refused(path.string() + " ends inside its header");
  const size_t data = 8 + header;
  const auto json =
      nlohmann::json::parse(bytes.begin() + 8, bytes.begin() + static_cast<std::ptrdiff_t>(data));
  for (const auto& [name, entry] : json.items()) {
    if (!name.starts_with(prefix) || (wanted != nullptr && !wanted->contains(name))) continue;
    const auto begin = entry.at("data_offsets").at(0).get<size_t>();
    const auto end = entry.at("data_offsets").at(1).get<size_t>();
    if (begin > end || end > bytes.size() - data) {
      return Refused(path.string() + ": " + name + " lies outside the file");
    }
    const auto* from = bytes.data() + data;
    (*out)[name.substr(prefix.size())] = {entry.at("dtype").get<std::string>(),
                                          entry.at("shape").get<std::vector<size_t>>(),
                                          Bytes(from + begin, from + end)};
  }
  return {};
}

Result<StoredTensors> ReadDirectory(const fs::path& directory, std::string_view prefix) {
  StoredTensors stored;
  const fs::path index = directory / "model.safetensors.index.json";
  if (!fs::exists(index)) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.path().extension() != ".safetensors") continue;
      PENSTOCK_TRY_VOID(AddFile(entry.path(), prefix, nullptr, &stored));
    }
    return stored;
  }
  PENSTOCK_TRY(const Bytes text, ReadFile(index));
  std::map<std::string, std::set<std::string>> names_of_file;
  const auto json = nlohmann::json::parse(text);
  for (const auto& [name, file] : json.at("weight_map").items()) {
    names_of_file[file.get<std::string>()].insert(name);
  }
  for (const auto& [file, names] : names_of_file) {
    PENSTOCK_TRY_VOID(AddFile(directory / file, prefix, &names, &stored));
  }
  return stored;
}

double DecodeBf16(const unsigned char* bytes) {
  const uint32_t bits = static_cast<uint32_t>(bytes[0] | bytes[1] << 8) << 16;
  return std::bit_cast<float>(bits);
}

double DecodeF32(const unsigned char* bytes) {
  float value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

Result<Matrix> DecodePlain(const std::string& name, const Stored& stored) {
  size_t count = 1;
  for (const size_t extent : stored.shape) count *= extent;
  const size_t width = stored.dtype == "BF16" ? 2 : stored.dtype == "F32" ? 4 : 0;
  if (width == 0) return Refused(name + " has dtype " + stored.dtype);
  if (stored.bytes.size() != count * width) return Refused(name + " has the wrong size");
  Matrix matrix;
  matrix.rows = stored.shape.size() > 1 ? stored.shape[0] : 1;
  matrix.cols = matrix.rows == 0 ? 0 : count / matrix.rows;
  matrix.values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto* at = stored.bytes.data() + i * width;
    matrix.values.push_back(width == 2 ? DecodeBf16(at) : DecodeF32(at));
  }
  return matrix;
}

Result<Matrix> DecodePacked(const std::string& name, const Stored& packed, const Stored& scale) {
  const bool matrices = packed.shape.size() == 2 && scale.shape.size() == 2;
  if (!matrices || packed.dtype != "U8" || scale.dtype != "U8") {
    return Refused(name + " is not a pair of U8 matrices");
  }
  Matrix matrix{packed.shape[0], packed.shape[1] * 2, {}};
  const size_t groups = matrix.cols / kGroup;
  if (matrix.cols % kGroup != 0 || scale.shape[0] != matrix.rows || scale.shape[1] != groups ||
      packed.bytes.size() != matrix.rows * matrix.cols / 2 ||
      scale.bytes.size() != matrix.rows * groups) {
    return Refused(name + " has packed values and scales that do not fit each other");
  }
  matrix.values.reserve(matrix.rows * matrix.cols);
  for (size_t r = 0; r < matrix.rows; ++r) {
    for (size_t c = 0; c < matrix.cols; ++c) {
      const unsigned byte = packed.bytes[r * (matrix.cols / 2) + c / 2];
      const unsigned code = c % 2 == 0 ? byte & 15U : byte >> 4U;
      matrix.values.push_back(DecodeMxfp4(code, scale.bytes[r * groups + c / kGroup]));
    }
  }
  return matrix;
}

}  // namespace

double DecodeMxfp4(unsigned code, unsigned scale) {
  constexpr double kMagnitudes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  if (scale == 255) return std::numeric_limits<double>::quiet_NaN();
  const double magnitude = std::ldexp(kMagnitudes[code & 7U], static_cast<int>(scale) - 127);
  return (code & 8U) != 0 ? -magnitude : magnitude;
}

Result<Tensors> Tensors::Load(const std::string& directory, std::string_view prefix) {
  PENSTOCK_TRY(StoredTensors stored, ReadDirectory(directory, prefix));
  constexpr std::string_view kPacked = "_packed";
  constexpr std::string_view kScale = "weight_scale";
  Tensors tensors;
  for (const auto& [name, entry] : stored) {
    if (name.ends_with(kScale)) continue;
    if (!name.ends_with(kPacked)) {
      PENSTOCK_TRY(tensors.matrices_[name], DecodePlain(name, entry));
      continue;
    }
    const std::string plain = name.substr(0, name.size() - kPacked.size());
    const auto scale = stored.find(plain + "_scale");
    if (scale == stored.end()) return Refused(name + " has no scales");
    PENSTOCK_TRY(tensors.matrices_[plain], DecodePacked(plain, entry, scale->second));
  }
  return tensors;
}

Result<Matrix> Tensors::Take(const std::string& name, size_t rows, size_t cols) {
  const auto found = matrices_.find(name);
  if (found == matrices_.end()) return Refused("no tensor " + name);
  if (found->second.rows != rows || found->second.cols != cols) {
    return Refused(name + ": expected [" + std::to_string(rows) + ", " + std::to_string(cols) +
                   "], got [" + std::to_string(found->second.rows) + ", " +
                   std::to_string(found->second.cols) + "]");
  }
  return std::move(found->second);
}

Result<std::vector<double>> Tensors::TakeVector(const std::string& name, size_t at_least) {
  const auto found = matrices_.find(name);
  if (found == matrices_.end()) return Refused("no tensor " + name);
  if (found->second.values.size() < at_least) {
    return Refused(name + ": expected " + std::to_string(at_least) + " values, got " +
                   std::to_string(found->second.values.size()));
  }
  return std::move(found->second.values);
}

}  // namespace penstock::k3::oracle
