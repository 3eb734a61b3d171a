#include "models/text/choose/forced_ids.h"

#include <fmt/format.h>

#include "models/text/choose/log_probability.h"
#include "runtime/check.h"

namespace penstock::text {

Result<Choice> ForcedIds::Choose(std::span<const float> logits, size_t position) {
  PENSTOCK_CHECK(position >= begin_ && position - begin_ < ids_.size());
  const TokenId id = ids_[position - begin_];
  PENSTOCK_TRY(const double log_probability, LogProbability(logits, id));
  return Choice{id, log_probability};
}

Status ForcedIds::Check(size_t begin, size_t vocab) const {
  PENSTOCK_CHECK(begin >= begin_ && begin - begin_ <= ids_.size());
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] >= vocab) {
      return Refused(
          fmt::format("forced token {}: expected an id below {}, got {}", i, vocab, ids_[i]));
    }
  }
  return {};
}

}  // namespace penstock::text
