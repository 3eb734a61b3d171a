#pragma once

#include <vector>

#include "models/text/choose/chooser.h"

namespace penstock::text {

// Teacher forcing: the ids are given, and each carries its log-probability under the row that would
// have chosen it. The run is as if a sampler had chosen them: it ends with the last of them, or
// earlier by n, by the context, or by an end token among them that is not ignored; ids behind that
// are neither emitted nor scored.
class ForcedIds : public Chooser {
 public:
  // ids[k] stands at position begin + k; begin is the position behind the prompt.
  ForcedIds(std::vector<TokenId> ids, size_t begin) : ids_(std::move(ids)), begin_(begin) {}

  // kUnsound when a logit is not finite.
  Result<Choice> Choose(std::span<const float> logits, size_t position) override;
  size_t most() const override { return ids_.size(); }
  // Every id is below `vocab`. A run that goes on may ask from a later position on.
  Status Check(size_t begin, size_t vocab) const override;

 private:
  std::vector<TokenId> ids_;
  size_t begin_;
};

}  // namespace penstock::text
