#include "io/pack/layout.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace penstock::io {
namespace {

constexpr std::array<std::string_view, kCodecs> kCodecNames = {"raw", "chain", "huffman"};
constexpr std::array<uint64_t, kElements> kElementWidths = {1, 2, 2, 1, 1, 4};

}  // namespace

uint64_t ElementWidth(uint8_t element) { return element < kElements ? kElementWidths[element] : 0; }

std::string_view CodecName(uint8_t codec) {
  return codec < kCodecs ? kCodecNames[codec] : std::string_view("unknown");
}

std::optional<uint8_t> CodecNumber(std::string_view name) {
  const auto found = std::find(kCodecNames.begin(), kCodecNames.end(), name);
  if (found == kCodecNames.end()) return std::nullopt;
  return static_cast<uint8_t>(found - kCodecNames.begin());
}

std::string SumText(uint64_t sum) { return fmt::format("{:016x}", sum); }

std::optional<uint64_t> ParseSum(std::string_view text) {
  constexpr size_t kDigits = 16;
  if (text.size() != kDigits) return std::nullopt;
  if (text.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  uint64_t sum = 0;
  std::from_chars(text.data(), text.data() + text.size(), sum, 16);
  return sum;
}

bool AllZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace penstock::io
