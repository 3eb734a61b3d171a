// PackManifest::Parse: the document's form, then what its numbers say of one another.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/pack/entry.h"
#include "io/pack/manifest.h"
#include "io/safetensors/names.h"

namespace penstock::io {
namespace {

// What the document says besides the manifest's own fields, to be compared with them.
struct Claims {
  std::array<CodecTotals, kCodecs> statistics;
  CodecTotals totals;
  std::string sum;
};

Status ReadStatistics(JsonValue& value, std::string_view file, Claims& claims) {
  const std::string place = fmt::format("{}: statistics", file);
  std::vector<JsonField> fields;
  for (uint8_t codec = 0; codec < kCodecs; ++codec) {
    CodecTotals& into = claims.statistics[codec];
    fields.push_back({CodecName(codec), [&place, &into](JsonValue& totals) {
                        const std::array of = {
                            NumberField("stripes", place, into.stripes),
                            NumberField("raw_bytes", place, into.raw_bytes),
                            NumberField("stored_bytes", place, into.stored_bytes)};
                        return ReadFields(totals, place, of);
                      }});
  }
  return ReadFields(value, place, fields);
}

Status ReadManifest(std::string_view json, std::string_view file, PackManifest& into,
                    Claims& claims) {
  std::vector<JsonField> fields = {ConstantField("schema", file, kPackSchema)};
  ParameterFields(file, into.parameters, fields);
  fields.push_back({"file", [&](JsonValue& value) {
                      const std::array of = {ConstantField("name", file, kStripesName),
                                             NumberField("bytes", file, into.file_bytes)};
                      return ReadFields(value, file, of);
                    }});
  fields.push_back(TensorsField(file, into.tensors));
  fields.push_back(ListField("stripes", file, [&](JsonValue& value, size_t index) {
    return ReadStripe(value, file, index, into.stripes.emplace_back());
  }));
  fields.push_back(
      {"statistics", [&](JsonValue& value) { return ReadStatistics(value, file, claims); }});
  fields.push_back(NumberField("raw_bytes", file, claims.totals.raw_bytes));
  fields.push_back(NumberField("stored_bytes", file, claims.totals.stored_bytes));
  fields.push_back(TextField("sum", file, claims.sum));
  return ReadDocument(json, file, fields);
}

// How the stripes lie in stripes.bin. Fills in raw_bytes.
Status CheckStripes(PackManifest& manifest, std::string_view file) {
  // A stripe of one chunk: head and entry, the chunk, the slack.
  constexpr uint64_t kLeastBytes = FrontBytes(1, 0) + kChunkAlignment + kStripeSlack;
  CoverCheck cover(manifest.tensors, file);
  uint64_t at = 0;
  for (size_t i = 0; i < manifest.stripes.size(); ++i) {
    Stripe& stripe = manifest.stripes[i];
    PENSTOCK_TRY_VOID(cover.Next(stripe.planned()));
    const uint8_t element = manifest.tensors[stripe.tensor].element;
    stripe.raw_bytes = stripe.elements * ElementWidth(element);
    const auto bad = [&](std::string_view what) {
      return Refused(fmt::format("{}: {}: {}", file, manifest.StripeName(i), what));
    };
    if (element == kElementBytes && stripe.codec != kCodecRaw) {
      return bad(fmt::format("expected the codec raw for bytes, got {}", CodecName(stripe.codec)));
    }
    if (stripe.offset != at) {
      return bad(fmt::format("expected it at offset {}, where the one before ends, got {}", at,
                             stripe.offset));
    }
    if (stripe.stored_bytes < kLeastBytes || stripe.stored_bytes > kMaxStripeStoredBytes ||
        stripe.stored_bytes % kChunkAlignment != 0) {
      return bad(fmt::format("expected {} to {} stored bytes, a multiple of {}, got {}",
                             kLeastBytes, kMaxStripeStoredBytes, kChunkAlignment,
                             stripe.stored_bytes));
    }
    at += stripe.padded_bytes();
    if (at > manifest.file_bytes) {
      return bad(fmt::format("expected it to end inside of the {} bytes of {}, got {}",
                             manifest.file_bytes, kStripesName, at));
    }
  }
  PENSTOCK_TRY_VOID(cover.End());
  if (at == manifest.file_bytes) return {};
  return Refused(fmt::format("{}: expected {} bytes of {}, as its {} stripes take, got {}", file,
                             at, kStripesName, manifest.stripes.size(), manifest.file_bytes));
}

Status CheckTotals(const CodecTotals& expected, const CodecTotals& got, std::string_view file,
                   std::string_view what) {
  if (expected == got) return {};
  return Refused(fmt::format(
      "{}: {}: expected {} stripes, {} raw and {} stored bytes as its stripes add up to, got {}, "
      "{} and {}",
      file, what, expected.stripes, expected.raw_bytes, expected.stored_bytes, got.stripes,
      got.raw_bytes, got.stored_bytes));
}

}  // namespace

Result<PackManifest> PackManifest::Parse(std::string_view json, std::string_view file) {
  PackManifest manifest;
  Claims claims;
  PENSTOCK_TRY_VOID(ReadManifest(json, file, manifest, claims));
  if (!ParseSum(claims.sum)) {
    return Refused(fmt::format("{}: expected a sum of 16 hexadecimal digits, got {}", file,
                               Quoted(claims.sum)));
  }
  PENSTOCK_TRY_VOID(CheckParameters(manifest.parameters, file));
  PENSTOCK_TRY_VOID(CheckTensors(manifest.tensors, file));
  PENSTOCK_TRY_VOID(CheckStripes(manifest, file));
  const auto statistics = manifest.Statistics();
  for (uint8_t codec = 0; codec < kCodecs; ++codec) {
    PENSTOCK_TRY_VOID(
        CheckTotals(statistics[codec], claims.statistics[codec], file, CodecName(codec)));
  }
  claims.totals.stripes = manifest.stripes.size();
  PENSTOCK_TRY_VOID(CheckTotals(manifest.Totals(), claims.totals, file, "all stripes"));
  return manifest;
}

}  // namespace penstock::io
