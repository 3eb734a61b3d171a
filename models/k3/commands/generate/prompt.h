#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/k3/commands/generate/options.h"
#include "models/k3/config/shape.h"
#include "models/text/tokenizer.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// The checkpoint's tokenizer; nothing where neither of its files is there. A directory whose
// tokenizer cannot be read is refused when `required`, else it counts as one without.
Result<std::optional<text::Tokenizer>> FindTokenizer(const std::string& directory,
                                                     size_t vocab_size, bool required,
                                                     const Notice& notice);

// The ids to continue, from the one of -p, -f and --ids that was given; none or several are
// refused, and so is text without a tokenizer.
Result<std::vector<text::TokenId>> ReadPrompt(const RunOptions& options,
                                              const std::optional<text::Tokenizer>& tokenizer);

// Refuses a prompt without a token, and an id that the model does not have.
Status CheckPrompt(std::span<const text::TokenId> prompt, const Shape& shape);

// Positions that the run may take: -c (`asked`), else prompt and what is to be generated, at most
// what the model has. A prompt that does not fit is refused with both numbers.
Result<uint64_t> ChooseContext(size_t prompt, size_t generated, uint64_t asked, const Shape& shape);

}  // namespace penstock::k3
