#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/pack/sum/sum.h"
#include "runtime/size.h"

namespace penstock::io {

// The constants and records of the pack format; io/pack.h explains them.

inline constexpr std::string_view kPackSchema = "penstock.pack.v1";
inline constexpr std::string_view kJournalSchema = "penstock.pack.journal.v1";

inline constexpr std::string_view kManifestName = "pack.json";
inline constexpr std::string_view kStripesName = "stripes.bin";
inline constexpr std::string_view kPartialManifestName = "pack.json.partial";
inline constexpr std::string_view kPartialStripesName = "stripes.bin.partial";
inline constexpr std::string_view kJournalName = "pack.jsonl.partial";

inline constexpr uint64_t kMaxManifestBytes = kGiB;  // Also of a journal.

inline constexpr uint64_t kStripeAlignment = 4096;
inline constexpr uint64_t kChunkAlignment = 64;
inline constexpr uint64_t kStripeSlack = 64;
inline constexpr uint64_t kMaxStripeRawBytes = 256 * kMiB;
inline constexpr uint64_t kMaxStripeStoredBytes = 512 * kMiB;
inline constexpr uint32_t kStripeMagic = 0x72747370;

inline constexpr uint8_t kCodecRaw = 0;
inline constexpr uint8_t kCodecs = 3;
inline constexpr uint8_t kElementBytes = 0;
inline constexpr uint8_t kElements = 6;

struct StripeHead {
  uint32_t magic = kStripeMagic;
  uint8_t codec = kCodecRaw;
  uint8_t element = kElementBytes;
  uint16_t zero = 0;
  uint32_t chunks = 0;
  uint32_t chunk_elements = 0;
  uint64_t elements = 0;
  uint32_t code_bytes = 0;
  uint32_t zero_too = 0;
};
static_assert(sizeof(StripeHead) == 32);

struct ChunkEntry {
  uint32_t stored_bytes = 0;
  uint32_t position = 0;  // In units of kChunkAlignment from the stripe's beginning.
  uint64_t stored_sum = 0;
  uint64_t raw_sum = 0;
};
static_assert(sizeof(ChunkEntry) == 24);

// Bytes of a stripe's front. Cannot overflow.
constexpr uint64_t FrontBytes(uint32_t chunks, uint32_t code_bytes) {
  return RoundUp(sizeof(StripeHead) + sizeof(ChunkEntry) * uint64_t{chunks} + code_bytes,
                 kChunkAlignment);
}

// Bytes of one element; 0 for a number that is no element.
uint64_t ElementWidth(uint8_t element);

std::string_view CodecName(uint8_t codec);  // "raw"; "unknown" for a number that is no codec.
std::optional<uint8_t> CodecNumber(std::string_view name);

std::string SumText(uint64_t sum);  // 16 hexadecimal digits.
std::optional<uint64_t> ParseSum(std::string_view text);

bool AllZero(std::span<const std::byte> bytes);

}  // namespace penstock::io
