#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "runtime/result.h"

namespace penstock::text {

// Cuts valid UTF-8 into the pieces that byte pair merging never crosses, as the Kimi K3 release
// defines them. First into slices: every 400,000 characters, and inside any run of more than
// 25,000 characters that are all white space or all not. Then each slice into pieces, at every
// position by the first alternative that matches:
//
//   1. a run of Han
//   2. an optional character that is no line break, letter or number; any of {Lu, Lt, Lm, Lo, M}
//      not Han; one or more of {Ll, Lm, Lo, M} not Han; an optional 's 't 're 've 'm 'll 'd
//   3. the same with one or more of the first set and any of the second
//   4. one to three of N
//   5. an optional blank; a run that is not white space, letter or number; any CR and LF
//   6. white space that ends with its last CR or LF
//   7. white space that is not followed by anything else (leaves the last blank before a word)
//   8. white space
//
// Character classes are those of the linked PCRE2's Unicode tables. Han is the *script*, not the
// script extensions that PCRE2 means by a bare name; white space is Unicode's White_Space, without
// U+180E that PCRE2 counts too; only the cut of long runs also counts U+001C..U+001F, as the
// release's own splitter does. Sets are written as negated unions (categories partition the
// characters), so that each repeat is one class: no group to backtrack into, linear time.
//
// Threads: const calls are re-entrant.
class PreSplitter {
 public:
  enum class Engine { kJitIfAvailable, kInterpreter };  // Same pieces; the second is slower.

  static Result<PreSplitter> Create(Engine engine = Engine::kJitIfAvailable);

  // Calls `piece` with each piece of `text`, in order; they tile it. `text` must be valid UTF-8
  // (PENSTOCK_CHECK is not made: call ReplaceInvalidUtf8 first). Errors: kFailed when the engine
  // has no memory.
  Status Split(std::string_view text, const std::function<void(std::string_view)>& piece) const;

  // The first cut alone.
  static void Slice(std::string_view text, const std::function<void(std::string_view)>& slice);

 private:
  struct Code;
  explicit PreSplitter(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

  std::shared_ptr<const Code> code_;  // Immutable, shared by copies.
};

}  // namespace penstock::text
