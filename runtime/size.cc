#include "runtime/size.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace penstock {
namespace {

struct Unit {
  std::string_view suffix;
  uint64_t factor;
};

constexpr uint64_t kLimit = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxWholeDigits = 19;  // As many as 64 bits hold.
constexpr size_t kMaxFractionDigits = 9;

// From the largest to the smallest; the first spelling of a factor is the one that is printed.
constexpr std::array<Unit, 5> kSizeUnits = {
    {{"T", kTiB}, {"G", kGiB}, {"M", kMiB}, {"k", kKiB}, {"", 1}}};
constexpr std::array<Unit, 5> kTimeUnits = {
    {{"m", 60'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

struct Decimal {
  uint64_t whole = 0;
  uint64_t fraction = 0;        // The digits behind the point, as an integer,
  uint64_t fraction_scale = 1;  // over this power of ten.
  std::string_view suffix;
};

std::optional<Decimal> SplitDecimal(std::string_view text) {
  Decimal out;
  size_t i = 0;
  for (; i < text.size() && IsDigit(text[i]); ++i) {
    out.whole = out.whole * 10 + static_cast<uint64_t>(text[i] - '0');
    if (out.whole > kLimit || i >= kMaxWholeDigits) return std::nullopt;
  }
  if (i == 0) return std::nullopt;
  if (i < text.size() && text[i] == '.') {
    const size_t first = ++i;
    for (; i < text.size() && IsDigit(text[i]); ++i) {
      if (i - first >= kMaxFractionDigits) return std::nullopt;
      out.fraction = out.fraction * 10 + static_cast<uint64_t>(text[i] - '0');
      out.fraction_scale *= 10;
    }
    if (i == first) return std::nullopt;
  }
  out.suffix = text.substr(i);
  return out;
}

std::optional<uint64_t> Scale(const Decimal& number, uint64_t factor) {
  using Wide = unsigned __int128;
  const Wide total =
      Wide{number.whole} * factor + Wide{number.fraction} * factor / number.fraction_scale;
  if (total > kLimit) return std::nullopt;
  return static_cast<uint64_t>(total);
}

std::optional<uint64_t> SizeFactor(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") return 1;
  for (const Unit& unit : kSizeUnits) {
    if (unit.suffix.empty() || (suffix[0] | 0x20) != (unit.suffix[0] | 0x20)) continue;
    const std::string_view rest = suffix.substr(1);
    if (rest.empty() || rest == "B" || rest == "iB" || rest == "ib" || rest == "b") {
      return unit.factor;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> TimeFactor(std::string_view suffix) {
  for (const Unit& unit : kTimeUnits) {
    if (suffix == unit.suffix) return unit.factor;
  }
  return std::nullopt;
}

std::string FormatShortest(uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) {
      return fmt::format("{}{}", value / unit.factor, unit.suffix);
    }
  }
  return "0";
}

}  // namespace

Result<ByteSize> ParseSize(std::string_view text) {
  const auto number = SplitDecimal(text);
  const auto factor = number ? SizeFactor(number->suffix) : std::nullopt;
  const auto bytes = factor ? Scale(*number, *factor) : std::nullopt;
  if (!bytes) {
    return Refused(
        fmt::format("expected a size below 8 EiB such as 4096, 4k, 8M or 1.5G, got \"{}\"", text));
  }
  return ByteSize{*bytes};
}

std::string FormatSize(ByteSize size) { return FormatShortest(size.bytes, kSizeUnits); }

std::string DescribeSize(uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // 999.5 would print as 1000 with three digits.
  for (; value >= 999.5 && unit + 1 < kNames.size(); ++unit) value /= 1024;
  if (unit == 0) return fmt::format("{} B", bytes);
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kNames[unit]);
}

Result<Duration> ParseDuration(std::string_view text) {
  const auto number = SplitDecimal(text);
  auto factor = number ? TimeFactor(number->suffix) : std::nullopt;
  if (number && !factor && number->suffix.empty() && number->whole == 0 && number->fraction == 0) {
    factor = 1;
  }
  const auto ns = factor ? Scale(*number, *factor) : std::nullopt;
  if (!ns) {
    return Refused(
        fmt::format("expected a duration such as 250us, 5ms, 2s or 1m, got \"{}\"", text));
  }
  return Duration{*ns};
}

std::string FormatDuration(Duration duration) { return FormatShortest(duration.ns, kTimeUnits); }

}  // namespace penstock
