#include "models/k3/commands/generate/token_output.h"

#include <fmt/format.h>

namespace penstock::k3 {

Result<OutputKind> ChooseOutput(const std::string& output, bool has_tokenizer, bool forced) {
  if (output == "scores" && !forced) return Refused("--output scores needs --force-ids");
  if (output == "scores" || (output == "auto" && forced)) return OutputKind::kScores;
  if (output == "json") return OutputKind::kJson;
  if (output == "ids") return OutputKind::kIds;
  if (has_tokenizer) return OutputKind::kText;
  if (output == "auto") return OutputKind::kIds;
  return Refused("--output text needs the checkpoint's tokenizer files; --output ids does not");
}

TokenOutput::TokenOutput(OutputKind kind, Console& console, const text::Tokenizer* tokenizer)
    : kind_(kind), console_(&console) {
  if (tokenizer) detokenizer_.emplace(*tokenizer);
}

Status TokenOutput::Push(const text::TokenRecord& token, bool hide) {
  text_ = detokenizer_ && !hide ? detokenizer_->Push(token.id) : "";
  ids_.push_back(token.id);
  if (token.log_probability) log_probabilities_.push_back(*token.log_probability);
  switch (kind_) {
    case OutputKind::kText:
      return console_->Write(text_);
    case OutputKind::kIds:
      return console_->Write(fmt::format("{}{}", ids_.size() > 1 ? "," : "", token.id));
    case OutputKind::kScores:
      return console_->Write(fmt::format("{}{},{},{}\n",
                                         ids_.size() == 1 ? "position,id,log_probability\n" : "",
                                         token.position, token.id, log_probabilities_.back()));
    case OutputKind::kJson:
      all_text_ += text_;
  }
  return {};
}

Status TokenOutput::Finish(const Json& facts) {
  text_ = detokenizer_ ? detokenizer_->Finish() : "";
  if (kind_ == OutputKind::kJson) return WriteObject(facts);
  if (kind_ == OutputKind::kIds) return ids_.empty() ? Status() : console_->Write("\n");
  if (kind_ == OutputKind::kScores) return {};
  // Text goes to a file or a pipe as it was generated; a terminal wants its prompt on a new line.
  return console_->Write(console_->writes_to_terminal() ? text_ + "\n" : text_);
}

Status TokenOutput::WriteObject(const Json& facts) {
  Json object = facts;
  object["ids"] = ids_;
  if (!log_probabilities_.empty()) object["log_probabilities"] = log_probabilities_;
  object["text"] = detokenizer_ ? Json(all_text_ + text_) : Json(nullptr);
  return console_->Write(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace penstock::k3
