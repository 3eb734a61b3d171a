#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::k3 {

// The tokens of an earlier run, to hold against those of this one.
class Verification {
 public:
  // Reads the token events of an --events file. Refused when it cannot be read, is not made of
  // such events, or holds no token.
  static Result<Verification> Read(const std::string& path);

  // kUnsound when the recorded run has another id at `index`. Tokens beyond the record pass.
  Status Check(size_t index, text::TokenId id) const;

  const std::string& checkpoint_id() const { return checkpoint_id_; }  // "" when not recorded.
  size_t size() const { return ids_.size(); }

 private:
  std::string path_;
  std::string checkpoint_id_;
  std::vector<text::TokenId> ids_;
};

}  // namespace penstock::k3
