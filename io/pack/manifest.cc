#include "io/pack/manifest.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <simdjson.h>

#include "io/pack/entry.h"
#include "io/safetensors/names.h"

namespace penstock::io {
namespace {

constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 62;

bool IsIdentity(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void Add(const Stripe& stripe, CodecTotals& totals) {
  ++totals.stripes;
  totals.raw_bytes += stripe.raw_bytes;
  totals.stored_bytes += stripe.stored_bytes;
}

// The last entry of a document that begins with `body`.
std::string SumEntry(std::string_view body) {
  return fmt::format(",\n\"sum\":\"{}\"}}\n", SumText(SumOf(std::as_bytes(std::span(body)))));
}

}  // namespace

std::string PackManifest::ToJson() const {
  std::string out = fmt::format("{{\"schema\":\"{}\",\n", kPackSchema);
  AppendParameters(parameters, out);
  fmt::format_to(std::back_inserter(out), ",\n\"file\":{{\"name\":\"{}\",\"bytes\":{}}}",
                 kStripesName, file_bytes);
  AppendTensors(tensors, out);
  out += ",\n\"stripes\":[";
  for (size_t i = 0; i < stripes.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    AppendStripe(stripes[i], out);
    out += ']';
  }
  out += "],\n\"statistics\":{";
  const auto statistics = Statistics();
  for (uint8_t codec = 0; codec < kCodecs; ++codec) {
    const CodecTotals& totals = statistics[codec];
    fmt::format_to(std::back_inserter(out),
                   "{}\"{}\":{{\"stripes\":{},\"raw_bytes\":{},\"stored_bytes\":{}}}",
                   codec == 0 ? "" : ",", CodecName(codec), totals.stripes, totals.raw_bytes,
                   totals.stored_bytes);
  }
  const CodecTotals totals = Totals();
  fmt::format_to(std::back_inserter(out), "}},\n\"raw_bytes\":{},\"stored_bytes\":{}",
                 totals.raw_bytes, totals.stored_bytes);
  return out + SumEntry(out);
}

Status CheckManifestSum(std::string_view json, std::string_view file) {
  const size_t entry = SumEntry({}).size();
  const std::string_view body = json.substr(0, json.size() - std::min(entry, json.size()));
  const std::string expected = SumEntry(body);
  if (json.substr(body.size()) == expected) return {};
  return Refused(fmt::format("{}: expected it to end in the sum of what stands before, {}, got {}",
                             file, Quoted(expected), Quoted(json.substr(body.size()))));
}

std::array<CodecTotals, kCodecs> PackManifest::Statistics() const {
  std::array<CodecTotals, kCodecs> statistics = {};
  for (const Stripe& stripe : stripes) Add(stripe, statistics[stripe.codec]);
  return statistics;
}

CodecTotals PackManifest::Totals() const {
  CodecTotals totals;
  for (const Stripe& stripe : stripes) Add(stripe, totals);
  return totals;
}

std::span<const Stripe> PackManifest::StripesOf(uint32_t tensor) const {
  const auto before = [tensor](const Stripe& stripe) { return stripe.tensor < tensor; };
  const auto upto = [tensor](const Stripe& stripe) { return stripe.tensor <= tensor; };
  const auto begin = std::partition_point(stripes.begin(), stripes.end(), before);
  return {begin, std::partition_point(begin, stripes.end(), upto)};
}

std::string PackManifest::StripeName(size_t stripe) const {
  const Stripe& s = stripes[stripe];
  return fmt::format("stripe {} ({}, elements {} to {})", stripe, Quoted(tensors[s.tensor].name),
                     s.first, s.first + s.elements - 1);
}

Status CheckParameters(const PackParameters& parameters, std::string_view place) {
  const auto refuse = [&](std::string_view what, std::string_view got) {
    return Refused(fmt::format("{}: expected {}, got {}", place, what, Quoted(got)));
  };
  const PackParameters& p = parameters;
  if (p.kind != "trunk" && p.kind != "file") return refuse("the kind 'trunk' or 'file'", p.kind);
  if (!IsIdentity(p.identity)) {
    return refuse("an identity of 32 hexadecimal digits", p.identity);
  }
  if (p.codec != "auto" && !CodecNumber(p.codec)) {
    return refuse("the codec 'auto', 'chain', 'huffman' or 'raw'", p.codec);
  }
  if (p.stripe_bytes == 0 || p.stripe_bytes > kMaxStripeRawBytes) {
    return Refused(fmt::format("{}: expected stripes of 1 to {} bytes, got {}", place,
                               kMaxStripeRawBytes, p.stripe_bytes));
  }
  const auto utf8 = [](std::string_view text) {
    return simdjson::validate_utf8(text.data(), text.size());
  };
  bool valid = utf8(p.source) && utf8(p.program);
  for (const auto& [key, value] : p.extra) valid = valid && utf8(key) && utf8(value);
  if (!valid) {
    return Refused(
        fmt::format("{}: expected names in UTF-8, got else (source {})", place, Quoted(p.source)));
  }
  return {};
}

Status CheckTensors(std::span<const PackTensor> tensors, std::string_view place) {
  if (tensors.size() > UINT32_MAX) {
    return Refused(
        fmt::format("{}: expected less than 2^32 tensors, got {}", place, tensors.size()));
  }
  for (const PackTensor& tensor : tensors) {
    PENSTOCK_TRY_VOID(CheckTensorName(tensor.name, place));
    if (!simdjson::validate_utf8(tensor.name.data(), tensor.name.size())) {
      return Refused(
          fmt::format("{}: tensor {}: expected a name in UTF-8", place, Quoted(tensor.name)));
    }
    const uint64_t width = ElementWidth(tensor.element);
    if (width == 0) {
      return Refused(fmt::format("{}: tensor {}: expected an element below {}, got {}", place,
                                 Quoted(tensor.name), kElements, tensor.element));
    }
    if (tensor.elements >= kMaxTensorBytes / width) {
      return Refused(fmt::format("{}: tensor {}: expected less than 2^62 bytes, got {} elements",
                                 place, Quoted(tensor.name), tensor.elements));
    }
  }
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
  const auto twice = std::adjacent_find(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tensors[a].name == tensors[b].name;
  });
  if (twice == order.end()) return {};
  return Refused(fmt::format("{}: tensor {} is there twice", place, Quoted(tensors[*twice].name)));
}

Error CoverCheck::Bad(std::string_view what) const {
  return Refused(fmt::format("{}: stripe {}: {}", place_, stripe_, what));
}

void CoverCheck::Skip() {
  while (tensor_ < tensors_.size() && first_ == tensors_[tensor_].elements) {
    ++tensor_;
    first_ = 0;
  }
}

Status CoverCheck::Next(const PlannedStripe& stripe) {
  Skip();
  if (tensor_ == tensors_.size()) {
    return Bad("expected none, every element is in the stripes before it");
  }
  const PackTensor& tensor = tensors_[tensor_];
  if (stripe.tensor != tensor_ || stripe.first != first_) {
    return Bad(fmt::format("expected tensor {} ({}) from element {}, got tensor {} from {}",
                           tensor_, Quoted(tensor.name), first_, stripe.tensor, stripe.first));
  }
  const uint64_t width = ElementWidth(tensor.element);
  const uint64_t most = std::min(tensor.elements - first_, kMaxStripeRawBytes / width);
  if (stripe.elements == 0 || stripe.elements > most) {
    return Bad(fmt::format("expected 1 to {} elements of tensor {}, got {}", most,
                           Quoted(tensor.name), stripe.elements));
  }
  first_ += stripe.elements;
  ++stripe_;
  return {};
}

Status CoverCheck::End() {
  Skip();
  if (tensor_ == tensors_.size()) return {};
  return Bad(fmt::format("expected one of tensor {} from element {} of {}, got none",
                         Quoted(tensors_[tensor_].name), first_, tensors_[tensor_].elements));
}

}  // namespace penstock::io
