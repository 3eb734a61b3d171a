#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/options.h"
#include "models/k3/census/entropy/form.h"
#include "models/k3/census/entropy/plan.h"
#include "ops/codec/codec.h"
#include "ops/codec/statistics.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// How many bits the weights of a checkpoint are worth: the entropy of exponents and of the rest
// beside what the codecs reach and what theory says. Of any directory of safetensors files.

inline constexpr std::array<ops::Codec, 3> kCensusCodecs = {ops::Codec::kRaw, ops::Codec::kChain,
                                                            ops::Codec::kHuffman};

// Bytes that a codec makes of these elements, with its code (coded.h). Without such a function no
// codec is measured.
using CodedSize =
    std::function<uint64_t(ops::Codec codec, ops::Element element, std::span<const std::byte> raw)>;

// Of a tensor, or the mean over tensors of one form: each counts by the elements it stands for, so
// that the mean entropy is that of codes made for each tensor, as codecs make them.
struct EntropyFigures {
  EntropyForm form = EntropyForm::kOther;
  uint64_t tensors = 0;
  uint64_t elements = 0;
  uint64_t bytes = 0;
  uint64_t sampled_tensors = 0;
  uint64_t sampled = 0;    // Elements that were counted; of these:
  uint64_t zeros = 0;      // of either sign,
  uint64_t nonfinite = 0;  // infinities and NaN.
  // Bits of entropy of an element: exponent field, sign and mantissa (tally.h), code or scale.
  std::optional<double> exponent_bits, rest_bits, code_bits;
  // Bits of an element as each codec stores it, [kCensusCodecs].
  std::array<std::optional<double>, kCensusCodecs.size()> coded_bits;
  // Of the magnitudes. The mean is taken over 1 / alpha, which is what Hill estimates, and each
  // tensor has a threshold of its own: tensors of different scales do not make a tail together.
  std::optional<ops::TailIndex> tail;
  std::vector<double> exponents;  // Share of each value of the field; empty when not split.

  // Bits of a floating-point number whose exponent takes its entropy: with a sign and the mantissa
  // of the form. Then the same with the upper bound at the tail's alpha (ops/codec/statistics.h).
  std::optional<double> measured_width() const;
  std::optional<double> bound_width() const;
  // Raw bits over coded bits.
  std::optional<double> ratio(size_t codec) const;
};

struct EntropyRow {
  std::string name;
  std::optional<size_t> layer;  // Of a K3 checkpoint.
  EntropyFigures figures;
};

struct EntropyCensus {
  std::string directory;
  std::string identity;  // io/safetensors/identity.h
  bool k3 = false;
  EntropySample sample;
  uint64_t experts = 0;  // Of the largest set of experts.
  uint64_t read_bytes = 0;
  std::vector<EntropyRow> totals;   // One for each form; name "all".
  std::vector<EntropyRow> kinds;    // For each kind and form of a K3 checkpoint, else none.
  std::vector<EntropyRow> groups;   // For each group of the plan (plan.h) and form.
  std::vector<EntropyRow> tensors;  // On request; those that were left out have `sampled` 0.
};

struct EntropyRequest {
  EntropySample sample;
  bool tensors = false;
  CodedSize coded;
  // Bytes read and those that will be; the first call comes before any is. False: stop, kCancelled.
  std::function<bool(uint64_t done, uint64_t total)> progress;
};

// Refused as io::Checkpoint::Open and io::MakeReader refuse; kFailed when a read fails, naming the
// tensor. Reads through an io::Reader of these options, several at a time.
Result<EntropyCensus> TakeEntropyCensus(const std::string& directory, const EntropyRequest& request,
                                        const io::IoOptions& options, const Notice& notice);

// For people: a row for each group, or for each tensor where there are some.
std::string EntropyTable(const EntropyCensus& census);

// "schema": "penstock.entropy.v1", and
//   directory, checkpoint, k3   the name, the identity, whether it is a K3 checkpoint
//   sample                      full, blocks, block_bytes, experts (looked at of each set),
//                               experts_of (experts in the largest set), read_bytes
//   totals, kinds, groups       arrays of rows; "tensors" too where it was asked for
// A row: name, layer (absent outside of K3 layers), form, tensors, elements, bytes,
//   sampled_tensors, sampled_elements, zeros, nonfinite (both of the sampled elements),
//   entropy   {exponent, rest, code} in bits of an element, null where it has no such part
//   codecs    {raw, chain, huffman}: {bits, ratio} or null
//   tail      {alpha, error, used} or null
//   width     {measured, bound} in bits, null where unknown
//   exponents {first, shares}: share of the field's value first, first + 1, ...; null without any.
//             Not in the rows of tensors.
nlohmann::ordered_json EntropyJson(const EntropyCensus& census);

// A page of its own, with charts and tables (runtime/report/report.h).
std::string EntropyPage(const EntropyCensus& census);

}  // namespace penstock::k3
