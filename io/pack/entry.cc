#include "io/pack/entry.h"

#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "io/safetensors/names.h"

namespace penstock::io {
namespace {

void AppendKey(std::string_view key, std::string_view text, std::string& out) {
  AppendJsonText(key, out);
  out += ':';
  AppendJsonText(text, out);
}

Status ReadExtra(JsonValue& value, std::string_view place, PackParameters& into) {
  constexpr std::string_view kKey = "extra";
  simdjson::ondemand::object object;
  if (value.get_object().get(object)) return BadValue(place, kKey, "an object");
  for (auto field : object) {
    std::string_view view;
    if (field.unescaped_key().get(view)) return BadValue(place, kKey, "a map of strings");
    std::string key(view);
    if (field.value().get_string().get(view)) return BadValue(place, kKey, "a map of strings");
    if (!into.extra.emplace(key, view).second) {
      return Refused(fmt::format("{}: the key {} is in 'extra' twice", place, Quoted(key)));
    }
  }
  return {};
}

// Numbers first, then sums, into the places given; false when it is not exactly that.
bool ReadTuple(JsonValue& value, std::span<uint64_t> numbers, std::span<uint64_t> sums) {
  simdjson::ondemand::array array;
  if (value.get_array().get(array)) return false;
  size_t at = 0;
  for (auto element : array) {
    if (at < numbers.size()) {
      if (element.get_uint64().get(numbers[at])) return false;
    } else {
      std::string_view text;
      if (at == numbers.size() + sums.size() || element.get_string().get(text)) return false;
      const auto sum = ParseSum(text);
      if (!sum) return false;
      sums[at - numbers.size()] = *sum;
    }
    ++at;
  }
  return at == numbers.size() + sums.size();
}

}  // namespace

void AppendParameters(const PackParameters& parameters, std::string& out) {
  AppendKey("kind", parameters.kind, out);
  out += ",\n\"source\":{";
  AppendKey("identity", parameters.identity, out);
  out += ',';
  AppendKey("name", parameters.source, out);
  out += "},\n\"parameters\":{";
  AppendKey("codec", parameters.codec, out);
  fmt::format_to(std::back_inserter(out), ",\"stripe_bytes\":{},\"extra\":{{",
                 parameters.stripe_bytes);
  bool first = true;
  for (const auto& [key, value] : parameters.extra) {
    if (!std::exchange(first, false)) out += ',';
    AppendKey(key, value, out);
  }
  out += "}},\n";
  AppendKey("program", parameters.program, out);
}

void AppendTensors(const std::vector<PackTensor>& tensors, std::string& out) {
  out += ",\n\"tensors\":[";
  for (size_t i = 0; i < tensors.size(); ++i) {
    out += i == 0 ? "\n{" : ",\n{";
    AppendKey("name", tensors[i].name, out);
    fmt::format_to(std::back_inserter(out), ",\"element\":{},\"elements\":{}}}", tensors[i].element,
                   tensors[i].elements);
  }
  out += ']';
}

void AppendStripe(const Stripe& s, std::string& out) {
  fmt::format_to(std::back_inserter(out), "[{},{},{},{},{},{},\"{:016x}\",\"{:016x}\"", s.tensor,
                 s.first, s.elements, s.offset, s.stored_bytes, s.codec, s.stored_sum, s.raw_sum);
}

void ParameterFields(std::string_view place, PackParameters& into, std::vector<JsonField>& fields) {
  fields.push_back(TextField("kind", place, into.kind));
  fields.push_back({"source", [place, &into](JsonValue& value) {
                      const std::array source = {TextField("identity", place, into.identity),
                                                 TextField("name", place, into.source)};
                      return ReadFields(value, place, source);
                    }});
  fields.push_back({"parameters", [place, &into](JsonValue& value) {
                      const std::array parameters = {
                          TextField("codec", place, into.codec),
                          NumberField("stripe_bytes", place, into.stripe_bytes),
                          JsonField{"extra", [place, &into](JsonValue& extra) {
                                      return ReadExtra(extra, place, into);
                                    }}};
                      return ReadFields(value, place, parameters);
                    }});
  fields.push_back(TextField("program", place, into.program));
}

JsonField TensorsField(std::string_view place, std::vector<PackTensor>& into) {
  return ListField("tensors", place, [place, &into](JsonValue& value, size_t index) -> Status {
    PackTensor tensor;
    uint64_t element = 0;
    const std::string here = fmt::format("{}: tensor {}", place, index);
    const std::array fields = {TextField("name", here, tensor.name),
                               NumberField("element", here, element),
                               NumberField("elements", here, tensor.elements)};
    PENSTOCK_TRY_VOID(ReadFields(value, here, fields));
    if (element >= kElements) {
      return Refused(
          fmt::format("{}: expected an element below {}, got {}", here, kElements, element));
    }
    tensor.element = static_cast<uint8_t>(element);
    into.push_back(std::move(tensor));
    return {};
  });
}

Status ReadStripe(JsonValue& value, std::string_view place, size_t index, Stripe& into) {
  std::array<uint64_t, 6> numbers = {};
  std::array<uint64_t, 2> sums = {};
  const auto bad = [&](std::string_view what) {
    return Refused(fmt::format("{}: stripe {}: {}", place, index, what));
  };
  if (!ReadTuple(value, numbers, sums)) {
    return bad(
        "expected [tensor, first, elements, offset, stored_bytes, codec, sum, sum], whole numbers "
        "and sums of 16 hexadecimal digits, got else");
  }
  const auto [tensor, first, elements, offset, stored_bytes, codec] = numbers;
  if (tensor > UINT32_MAX) return bad(fmt::format("expected a tensor's index, got {}", tensor));
  if (codec >= kCodecs) {
    return bad(fmt::format("expected a codec below {}, got {}", kCodecs, codec));
  }
  into = {.tensor = static_cast<uint32_t>(tensor),
          .codec = static_cast<uint8_t>(codec),
          .first = first,
          .elements = elements,
          .offset = offset,
          .stored_bytes = stored_bytes,
          .stored_sum = sums[0],
          .raw_sum = sums[1]};
  return {};
}

Status ReadPlannedStripe(JsonValue& value, std::string_view place, size_t index,
                         PlannedStripe& into) {
  std::array<uint64_t, 3> numbers = {};
  if (!ReadTuple(value, numbers, {}) || numbers[0] > UINT32_MAX) {
    return Refused(fmt::format(
        "{}: planned stripe {}: expected [tensor, first, elements], got else", place, index));
  }
  into = {static_cast<uint32_t>(numbers[0]), numbers[1], numbers[2]};
  return {};
}

}  // namespace penstock::io
