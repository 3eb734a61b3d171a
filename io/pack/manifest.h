#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/pack/layout.h"
#include "runtime/result.h"

namespace penstock::io {

struct PackTensor {
  std::string name;
  uint8_t element = kElementBytes;
  uint64_t elements = 0;
  friend bool operator==(const PackTensor&, const PackTensor&) = default;
};

// What a stripe holds, before it is known how it is stored.
struct PlannedStripe {
  uint32_t tensor = 0;    // In the list of tensors.
  uint64_t first = 0;     // Its first element in the tensor.
  uint64_t elements = 0;  // At least 1.
  friend bool operator==(const PlannedStripe&, const PlannedStripe&) = default;
};

struct Stripe {
  uint32_t tensor = 0;
  uint8_t codec = kCodecRaw;
  uint64_t first = 0;
  uint64_t elements = 0;
  uint64_t raw_bytes = 0;
  uint64_t offset = 0;        // In stripes.bin; a multiple of kStripeAlignment.
  uint64_t stored_bytes = 0;  // Without the zeros behind it.
  uint64_t stored_sum = 0;    // Of the front.
  uint64_t raw_sum = 0;
  PlannedStripe planned() const { return {tensor, first, elements}; }
  // Up to where the next stripe begins.
  uint64_t padded_bytes() const { return RoundUp(stored_bytes, kStripeAlignment); }
  friend bool operator==(const Stripe&, const Stripe&) = default;
};

// What a pack is made of and how: two packs with the same are the same.
struct PackParameters {
  std::string kind = "trunk";  // Or "file".
  std::string identity;        // Of the source: 32 hexadecimal digits.
  std::string source;          // Its name, for people.
  std::string codec = "auto";  // As asked: auto, chain, huffman, raw.
  uint64_t stripe_bytes = 0;   // As asked: 1 to kMaxStripeRawBytes.
  std::map<std::string, std::string> extra;
  std::string program;  // Name and version of the writer.
  friend bool operator==(const PackParameters&, const PackParameters&) = default;
};

struct CodecTotals {
  uint64_t stripes = 0;
  uint64_t raw_bytes = 0;
  uint64_t stored_bytes = 0;
  friend bool operator==(const CodecTotals&, const CodecTotals&) = default;
};

// The contents of pack.json. A value; 64 bytes a stripe. Threads: const functions are re-entrant.
struct PackManifest {
  // Refuses everything that io/pack.h does not allow, in a sentence that names `file` and the
  // stripe or tensor, but for the sum (CheckManifestSum). Believes nothing: sizes and positions of an accepted manifest cannot overflow
  // and lie inside of file_bytes.
  static Result<PackManifest> Parse(std::string_view json, std::string_view file);

  std::string ToJson() const;  // Parse reads it back to the same value.

  std::array<CodecTotals, kCodecs> Statistics() const;  // [codec]
  CodecTotals Totals() const;
  // The stripes of one tensor, in order; none for a tensor without elements.
  std::span<const Stripe> StripesOf(uint32_t tensor) const;
  // "stripe 17 ('layers.3.q', elements 0 to 4095)", for messages.
  std::string StripeName(size_t stripe) const;

  PackParameters parameters;
  uint64_t file_bytes = 0;  // Of stripes.bin.
  std::vector<PackTensor> tensors;
  std::vector<Stripe> stripes;
  // What messages about stripes call their file; not part of the document.
  std::string stripes_path = std::string(kStripesName);
};

// Refuses a document that does not end in the sum of all that stands before it: one in which some
// byte is not as it was written.
Status CheckManifestSum(std::string_view json, std::string_view file);

// Refuses parameters that no pack can have: an unknown kind or codec, an identity that is none, text
// that is not UTF-8. `place` begins the message.
Status CheckParameters(const PackParameters& parameters, std::string_view place);
// Refuses tensors that no pack can have: two of one name, an unknown element, 2^62 bytes and more.
Status CheckTensors(std::span<const PackTensor> tensors, std::string_view place);

// Follows stripes in order and refuses the first that does not continue where the one before ended.
class CoverCheck {
 public:
  CoverCheck(std::span<const PackTensor> tensors, std::string_view place)
      : tensors_(tensors), place_(place) {}
  Status Next(const PlannedStripe& stripe);
  Status End();  // Refuses when elements remain.

 private:
  Error Bad(std::string_view what) const;
  // To the next tensor with elements left.
  void Skip();

  const std::span<const PackTensor> tensors_;
  const std::string_view place_;
  uint64_t stripe_ = 0;
  uint32_t tensor_ = 0;  // Where the next stripe must begin.
  uint64_t first_ = 0;
};

}  // namespace penstock::io
