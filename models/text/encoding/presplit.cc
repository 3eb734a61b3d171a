#include "models/text/encoding/presplit.h"

#include <array>
#include <cstdint>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "models/text/encoding/utf8.h"

namespace penstock::text {
namespace {

constexpr size_t kSliceChars = 400'000;
constexpr size_t kRunChars = 25'000;

// Letters and marks that are not Han, without and with the lower case ones, as complements: a
// character is in {Lu, Lt, Lm, Lo, M} when its category is none of the others.
#define PENSTOCK_UPPER R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define PENSTOCK_LOWER R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define PENSTOCK_PREFIX R"([^\r\n\p{L}\p{N}]?)"
#define PENSTOCK_SUFFIX R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
// Unicode's White_Space: category Z and these controls.
#define PENSTOCK_SPACE R"(\p{Z}\t-\r\x{85})"

constexpr const char* kExpression =
    R"([\p{sc:Han}]+)"
    "|" PENSTOCK_PREFIX PENSTOCK_UPPER "*" PENSTOCK_LOWER "+" PENSTOCK_SUFFIX
    "|" PENSTOCK_PREFIX PENSTOCK_UPPER "+" PENSTOCK_LOWER "*" PENSTOCK_SUFFIX R"(|\p{N}{1,3})"
    R"(| ?[^\p{L}\p{N})" PENSTOCK_SPACE R"(]+[\r\n]*)"
    "|[" PENSTOCK_SPACE R"(]*[\r\n]+)"
    "|[" PENSTOCK_SPACE "]+(?![^" PENSTOCK_SPACE
    "])"
    "|[" PENSTOCK_SPACE "]+";

#undef PENSTOCK_UPPER
#undef PENSTOCK_LOWER
#undef PENSTOCK_PREFIX
#undef PENSTOCK_SUFFIX
#undef PENSTOCK_SPACE

std::string EngineMessage(int code) {
  std::array<PCRE2_UCHAR, 128> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// What counts as white space in the run rule: White_Space and the four information separators.
bool IsSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

struct PreSplitter::Code {
  explicit Code(pcre2_code* c) : compiled(c) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(compiled); }

  pcre2_code* compiled;
};

Result<PreSplitter> PreSplitter::Create(Engine engine) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kExpression), PCRE2_ZERO_TERMINATED,
                    PCRE2_UTF | PCRE2_ANCHORED, &code, &offset, nullptr);
  if (compiled == nullptr) {
    return Failed(fmt::format("PCRE2 refuses the split expression at offset {}: {}", offset,
                              EngineMessage(code)));
  }
  auto owned = std::make_shared<const Code>(compiled);
  // A library without JIT, or a kernel that forbids executable memory, leaves the interpreter.
  if (engine == Engine::kJitIfAvailable) pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
  return PreSplitter(std::move(owned));
}

namespace {

// One match at the front of what is left; the pieces of one slice after the other.
class Matcher {
 public:
  explicit Matcher(const pcre2_code* code)
      : code_(code),
        match_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    // A run of 25,000 characters costs that many steps; no text may run into the default limits.
    if (context_) pcre2_set_match_limit(context_.get(), UINT32_MAX);
  }

  // Bytes of the piece that begins at `begin` of `slice`.
  Result<size_t> PieceBytes(std::string_view slice, size_t begin) {
    if (!match_ || !context_) return Failed("PCRE2 has no memory to split the text");
    int count = Match(slice, begin, 0);
    // The JIT's stack is fixed; the interpreter's grows.
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = Match(slice, begin, PCRE2_NO_JIT);
    if (count < 0) {
      return Failed(fmt::format("PCRE2 cannot split the text at byte {} of a slice: {}", begin,
                                EngineMessage(count)));
    }
    return pcre2_get_ovector_pointer(match_.get())[1] - begin;
  }

 private:
  int Match(std::string_view slice, size_t begin, uint32_t options) {
    // The text was validated once; validating it at each piece would be quadratic.
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(slice.data()), slice.size(), begin,
                       PCRE2_NO_UTF_CHECK | options, match_.get(), context_.get());
  }

  const pcre2_code* code_;
  std::unique_ptr<pcre2_match_data, FreeMatch> match_;
  std::unique_ptr<pcre2_match_context, FreeMatch> context_;
};

}  // namespace

Status PreSplitter::Split(std::string_view text,
                          const std::function<void(std::string_view)>& piece) const {
  Matcher matcher(code_->compiled);
  Status status;
  Slice(text, [&](std::string_view slice) {
    for (size_t begin = 0; status && begin < slice.size();) {
      auto bytes = matcher.PieceBytes(slice, begin);
      if (!bytes) {
        status = std::move(bytes).error();
        return;
      }
      piece(slice.substr(begin, *bytes));
      begin += *bytes;
    }
  });
  return status;
}

void PreSplitter::Slice(std::string_view text, const std::function<void(std::string_view)>& slice) {
  size_t begin = 0, chars = 0, run = 0;
  bool run_is_space = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char front = DecodeUtf8(text.substr(at));
    const bool is_space = IsSpace(front.code);
    // A block of 400,000 starts over, with its own runs; a cut inside one does not move the next.
    const bool block_ends = chars == kSliceChars;
    run = !block_ends && chars > 0 && is_space == run_is_space ? run + 1 : 1;
    run_is_space = is_space;
    if (block_ends || run > kRunChars) {
      slice(text.substr(begin, at - begin));
      begin = at;
      run = 1;
    }
    chars = block_ends ? 1 : chars + 1;
    at += front.bytes;
  }
  if (begin < text.size()) slice(text.substr(begin));
}

}  // namespace penstock::text

#undef PCRE2_CODE_UNIT_WIDTH
