#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/pack/manifest.h"
#include "io/pack/strict_json.h"

namespace penstock::io {

// The parts that a manifest and a journal share, as JSON.

// "kind", "source", "parameters" and "program", without a comma before or behind.
void AppendParameters(const PackParameters& parameters, std::string& out);
// A comma and "tensors".
void AppendTensors(const std::vector<PackTensor>& tensors, std::string& out);
// The entry of a stripe without the bracket that ends it.
void AppendStripe(const Stripe& stripe, std::string& out);

// The fields of the same. `into` and `place` must outlive the reading.
void ParameterFields(std::string_view place, PackParameters& into, std::vector<JsonField>& fields);
JsonField TensorsField(std::string_view place, std::vector<PackTensor>& into);

// An entry with its bracket, and one of a plan. raw_bytes stays 0: it follows from the tensor.
Status ReadStripe(JsonValue& value, std::string_view place, size_t index, Stripe& into);
Status ReadPlannedStripe(JsonValue& value, std::string_view place, size_t index,
                         PlannedStripe& into);

}  // namespace penstock::io
