#include "io/safetensors/names.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <xxhash.h>

namespace penstock::io {
namespace {

constexpr size_t kMaxNameBytes = 64 << 10;
constexpr size_t kMaxQuotedBytes = 200;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Where a name is cut: behind the dot that ends its last component of digits, else at 0.
size_t CutOf(std::string_view name) {
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0;) {
    const size_t before = name.rfind('.', dot - 1);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view part = name.substr(begin, dot - begin);
    const bool digits = !part.empty() && std::all_of(part.begin(), part.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
    if (digits) return dot + 1;
    dot = before;
  }
  return 0;
}

// The first boundary of a UTF-8 code point at or behind `at`.
size_t CodePointAt(std::string_view text, size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

}  // namespace

std::string Quoted(std::string_view name) {
  std::string out = "'";
  const auto append = [&out](std::string_view part) {
    for (const char c : part) {
      if (IsControl(c)) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
    }
  };
  if (name.size() <= kMaxQuotedBytes) {
    append(name);
  } else {
    append(name.substr(0, CodePointAt(name, kMaxQuotedBytes / 2)));
    out += "...";
    append(name.substr(CodePointAt(name, name.size() - kMaxQuotedBytes / 2)));
  }
  return out + "'";
}

Status CheckTensorName(std::string_view name, std::string_view file) {
  if (name.size() > kMaxNameBytes) {
    return Refused(fmt::format("{}: tensor {}: expected a name of at most {} bytes, got {}", file,
                               Quoted(name), kMaxNameBytes, name.size()));
  }
  if (std::any_of(name.begin(), name.end(), IsControl)) {
    return Refused(fmt::format("{}: tensor {}: expected a name without control characters", file,
                               Quoted(name)));
  }
  return {};
}

Status CheckFileName(std::string_view name, std::string_view index) {
  const auto refuse = [&](std::string_view why) {
    return Refused(
        fmt::format("{}: file {}: expected a name inside the directory of the index, got one {}",
                    index, Quoted(name), why));
  };
  if (name.empty()) return refuse("that is empty");
  if (name.size() > kMaxNameBytes) return refuse("that is too long");
  if (std::any_of(name.begin(), name.end(), IsControl)) return refuse("with control characters");
  if (name.front() == '/') return refuse("that is absolute");
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      return refuse(fmt::format("with the component '{}'", part));
    }
    begin = end + 1;
  }
  return {};
}

StringPool::StringPool()
    : seed_((uint64_t{std::random_device{}()} << 32) | std::random_device{}()),
      begins_{0},
      ids_(0, Hash{this}, Equal{this}) {}

size_t StringPool::Hash::operator()(std::string_view text) const {
  return XXH3_64bits_withSeed(text.data(), text.size(), pool->seed_);
}

uint32_t StringPool::Intern(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return *found;
  const auto id = static_cast<uint32_t>(size());
  text_ += text;
  begins_.push_back(text_.size());
  ids_.insert(id);
  return id;
}

std::vector<uint32_t> StringPool::Sort() {
  ids_ = std::unordered_set<uint32_t, Hash, Equal>(0, Hash{this}, Equal{this});
  std::vector<uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [this](uint32_t a, uint32_t b) { return (*this)[a] < (*this)[b]; });
  std::vector<uint32_t> renumbered(size());
  std::string text;
  text.reserve(text_.size());
  std::vector<uint64_t> begins = {0};
  begins.reserve(begins_.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) {
    renumbered[order[rank]] = rank;
    text += (*this)[order[rank]];
    begins.push_back(text.size());
  }
  text_ = std::move(text);
  begins_ = std::move(begins);
  return renumbered;
}

std::optional<uint32_t> StringPool::Find(std::string_view text) const {
  uint32_t low = 0;
  auto high = static_cast<uint32_t>(size());
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if ((*this)[middle] < text) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == size() || (*this)[low] != text) return std::nullopt;
  return low;
}

TensorNames::Id TensorNames::Intern(std::string_view name) {
  const size_t cut = CutOf(name);
  return {groups_.Intern(name.substr(0, cut)), leaves_.Intern(name.substr(cut))};
}

void TensorNames::Sort() {
  new_group_ = groups_.Sort();
  new_leaf_ = leaves_.Sort();
}

void TensorNames::Seal() {
  new_group_ = {};
  new_leaf_ = {};
}

std::optional<TensorNames::Id> TensorNames::Find(std::string_view name) const {
  const size_t cut = CutOf(name);
  const auto group = groups_.Find(name.substr(0, cut));
  const auto leaf = leaves_.Find(name.substr(cut));
  if (!group || !leaf) return std::nullopt;
  return Id{*group, *leaf};
}

}  // namespace penstock::io
