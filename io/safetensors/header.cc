#include "io/safetensors/header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>
#include <xxhash.h>

#include "io/safetensors/names.h"

namespace penstock::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

namespace json = simdjson::ondemand;
using Tensor = SafetensorsHeader::Tensor;

// Reads one header's JSON, front to back, into a SafetensorsHeader. A first error ends it.
class HeaderParser {
 public:
  HeaderParser(uint64_t data_bytes, std::string_view file) : file_(file) {
    header_.data_bytes = data_bytes;
  }

  Result<SafetensorsHeader> Parse(simdjson::padded_string_view text) {
    json::document document;
    if (auto error = parser_.iterate(text).get(document)) return BadHeaderJson(error);
    json::object root;
    if (auto error = document.get_object().get(root)) return BadHeaderJson(error);
    for (auto field : root) {
      std::string_view key;
      json::value value;
      if (auto error = field.unescaped_key().get(key)) return BadHeaderJson(error);
      if (auto error = field.value().get(value)) return BadHeaderJson(error);
      PENSTOCK_TRY_VOID(key == "__metadata__" ? ReadMetadata(value) : ReadTensor(key, value));
    }
    // current_location fails exactly when nothing follows the object.
    if (document.current_location().error() == simdjson::SUCCESS) {
      return Refused(fmt::format("{}: the header has more than one JSON object", file_));
    }
    PENSTOCK_TRY_VOID(CheckDistinct());
    PENSTOCK_TRY_VOID(CheckTiling());
    return std::move(header_);
  }

 private:
  Error BadHeaderJson(simdjson::error_code error) const {
    const std::string place =
        last_.empty() ? "" : fmt::format(" at or behind tensor {}", Quoted(last_));
    return Refused(fmt::format("{}: the header is not valid JSON{}: {}", file_, place,
                               simdjson::error_message(error)));
  }

  Error Bad(std::string_view what) const {
    return Refused(fmt::format("{}: tensor {}: {}", file_, Quoted(last_), what));
  }

  Status ReadMetadata(json::value& value) {
    if (metadata_seen_) {
      return Refused(fmt::format("{}: the key '__metadata__' is in the header twice", file_));
    }
    metadata_seen_ = true;
    json::object object;
    if (value.get_object().get(object)) return BadMetadata();
    std::unordered_set<std::string> keys;
    for (auto field : object) {
      std::string_view key;
      std::string_view text;
      if (field.unescaped_key().get(key)) return BadMetadata();
      if (!keys.emplace(key).second) {
        return Refused(
            fmt::format("{}: the key {} is in '__metadata__' twice", file_, Quoted(key)));
      }
      if (field.value().get_string().get(text)) return BadMetadata();
    }
    return {};
  }

  Error BadMetadata() const {
    return Refused(
        fmt::format("{}: expected '__metadata__' to map strings to strings, got else", file_));
  }

  Status ReadTensor(std::string_view name, json::value& value) {
    last_ = name;
    PENSTOCK_TRY_VOID(CheckTensorName(name, file_));
    json::object entry;
    if (auto error = value.get_object().get(entry)) {
      if (error == simdjson::INCORRECT_TYPE) return Bad("expected an object, got else");
      return BadHeaderJson(error);
    }
    Tensor tensor;
    tensor.name_begin = static_cast<uint32_t>(header_.names.size());
    tensor.name_bytes = static_cast<uint32_t>(name.size());
    header_.names += name;
    PENSTOCK_TRY_VOID(ReadEntry(entry, tensor));
    PENSTOCK_TRY_VOID(CheckBytes(tensor));
    header_.tensors.push_back(tensor);
    return {};
  }

  Status ReadEntry(json::object& entry, Tensor& tensor) {
    bool dtype_seen = false, shape_seen = false, offsets_seen = false;
    for (auto field : entry) {
      std::string_view key;
      json::value value;
      if (auto error = field.unescaped_key().get(key)) return BadHeaderJson(error);
      const bool known = key == "dtype" || key == "shape" || key == "data_offsets";
      if (!known) return Bad(fmt::format("unknown key {}", Quoted(key)));
      bool& seen = key == "dtype" ? dtype_seen : key == "shape" ? shape_seen : offsets_seen;
      if (seen) return Bad(fmt::format("the key '{}' is there twice", key));
      seen = true;
      if (auto error = field.value().get(value)) return BadHeaderJson(error);
      PENSTOCK_TRY_VOID(key == "dtype"   ? ReadDtype(value, tensor)
                        : key == "shape" ? ReadShape(value, tensor)
                                         : ReadOffsets(value, tensor));
    }
    if (!dtype_seen) return Bad("expected a dtype, got none");
    if (!shape_seen) return Bad("expected a shape, got none");
    if (!offsets_seen) return Bad("expected data_offsets, got none");
    return {};
  }

  Status ReadDtype(json::value& value, Tensor& tensor) {
    std::string_view text;
    if (value.get_string().get(text)) return Bad("expected dtype to be a string, got else");
    const std::optional<Dtype> dtype = DtypeOf(text);
    if (!dtype) return Bad(fmt::format("unknown dtype {}", Quoted(text)));
    tensor.dtype = *dtype;
    return {};
  }

  Status ReadShape(json::value& value, Tensor& tensor) {
    json::array array;
    if (value.get_array().get(array)) return Bad("expected shape to be a list, got else");
    tensor.dims_begin = static_cast<uint32_t>(header_.dims.size());
    for (auto element : array) {
      uint64_t dim = 0;
      if (element.get_uint64().get(dim)) {
        return Bad("expected shape to hold whole numbers below 2^64, got else");
      }
      if (tensor.rank == kMaxRank) {
        return Bad(fmt::format("expected a shape of at most {} numbers, got more", kMaxRank));
      }
      header_.dims.push_back(dim);
      ++tensor.rank;
    }
    return {};
  }

  Status ReadOffsets(json::value& value, Tensor& tensor) {
    constexpr std::string_view kExpected =
        "expected data_offsets to be two whole numbers, got else";
    json::array array;
    if (value.get_array().get(array)) return Bad(kExpected);
    std::array<uint64_t, 2> offsets = {};
    size_t count = 0;
    for (auto element : array) {
      if (count == 2 || element.get_uint64().get(offsets[count])) return Bad(kExpected);
      ++count;
    }
    if (count != 2) return Bad(kExpected);
    tensor.begin = offsets[0];
    tensor.end = offsets[1];
    return {};
  }

  Status CheckBytes(const Tensor& tensor) const {
    if (tensor.begin > tensor.end || tensor.end > header_.data_bytes) {
      return Bad(fmt::format("expected data_offsets inside the {} bytes of data, got [{}, {}]",
                             header_.data_bytes, tensor.begin, tensor.end));
    }
    uint64_t bytes = DtypeBytes(tensor.dtype);
    bool overflow = false;
    bool empty = false;
    for (const uint64_t dim : header_.shape(tensor)) {
      empty |= dim == 0;
      overflow |= __builtin_mul_overflow(bytes, dim, &bytes);
    }
    const std::vector<uint64_t> shape = header_.shape(tensor);
    if (empty) bytes = 0;
    if (overflow && !empty) {
      return Bad(
          fmt::format("shape {} of {} is more than 2^64 bytes", shape, DtypeName(tensor.dtype)));
    }
    if (bytes != tensor.end - tensor.begin) {
      return Bad(fmt::format("expected {} bytes for shape {} of {}, got {} (data_offsets [{}, {}])",
                             bytes, shape, DtypeName(tensor.dtype), tensor.end - tensor.begin,
                             tensor.begin, tensor.end));
    }
    return {};
  }

  // Sorting instead of hashing: names made to collide cost nothing extra.
  Status CheckDistinct() const {
    std::vector<uint32_t> order(header_.tensors.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto name = [this](uint32_t i) { return header_.name(header_.tensors[i]); };
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
    const auto twice = std::adjacent_find(
        order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
    if (twice == order.end()) return {};
    return Refused(
        fmt::format("{}: tensor {} is in the header twice", file_, Quoted(name(*twice))));
  }

  Status CheckTiling() {
    std::sort(header_.tensors.begin(), header_.tensors.end(), [](const Tensor& a, const Tensor& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t at = 0;
    for (const Tensor& tensor : header_.tensors) {
      if (tensor.begin != at) {
        return Refused(fmt::format(
            "{}: tensor {}: expected its data at offset {} where the one before ends, got {}: {}",
            file_, Quoted(header_.name(tensor)), at, tensor.begin,
            tensor.begin < at ? "two tensors overlap" : "there is a gap"));
      }
      at = tensor.end;
    }
    if (at == header_.data_bytes) return {};
    const std::string last =
        header_.tensors.empty()
            ? ""
            : fmt::format(" (the last tensor is {})", Quoted(header_.name(header_.tensors.back())));
    return Refused(fmt::format("{}: expected the file to hold {} bytes of tensors{}, got {}", file_,
                               at, last, header_.data_bytes));
  }

  std::string_view file_;
  json::parser parser_;
  SafetensorsHeader header_;
  std::string last_;  // The tensor being read, for messages.
  bool metadata_seen_ = false;
};

Result<SafetensorsHeader> ParseHeader(simdjson::padded_string_view text, uint64_t data_bytes,
                                      std::string_view file) {
  if (text.empty() || text.front() != '{') {
    return Refused(
        fmt::format("{}: expected a header that starts with '{{', got else: this is "
                    "not a safetensors file",
                    file));
  }
  return HeaderParser(data_bytes, file).Parse(text);
}

}  // namespace

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text, uint64_t data_bytes,
                                                 std::string_view file) {
  const simdjson::padded_string padded(text);
  return ParseHeader(padded, data_bytes, file);
}

Result<SafetensorsHeader> ReadSafetensorsHeader(const RegularFile& file) {
  const std::string& path = file.path();
  constexpr uint64_t kLengthBytes = 8;
  if (file.size() < kLengthBytes) {
    return Refused(fmt::format("{}: expected a safetensors file of at least {} bytes, got {}", path,
                               kLengthBytes, file.size()));
  }
  std::array<char, kLengthBytes> length = {};
  PENSTOCK_TRY_VOID(file.ReadAt(0, length));
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, length.data(), sizeof header_bytes);
  const uint64_t most = std::min(kMaxHeaderBytes, file.size() - kLengthBytes);
  if (header_bytes < 2 || header_bytes > most) {
    return Refused(
        fmt::format("{}: expected a header of 2 to {} bytes (the file has {}), got a length of {}",
                    path, most, file.size(), header_bytes));
  }
  // Length and JSON together, behind the limits above; simdjson reads a little beyond the end.
  const uint64_t data_begin = kLengthBytes + header_bytes;
  std::string text(data_begin + simdjson::SIMDJSON_PADDING, '\0');
  PENSTOCK_TRY_VOID(file.ReadAt(0, std::span(text).first(data_begin)));
  const simdjson::padded_string_view json_text(text.data() + kLengthBytes, header_bytes,
                                               text.size() - kLengthBytes);
  PENSTOCK_TRY(SafetensorsHeader header, ParseHeader(json_text, file.size() - data_begin, path));
  header.data_begin = data_begin;
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), data_begin));
  header.hash.assign(reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest);
  return header;
}

}  // namespace penstock::io
