#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/result.h"

namespace penstock::text {

// `added_tokens_decoder` of a `tokenizer_config.json`: id to `content`. kRefused, naming `file`,
// for text that is not JSON, a key twice in one object, an id that is not plain decimal below 2^32
// and a content that is not a string or empty. Everything else in the file is ignored.
// Source: the tokenizer files of the Hugging Face format.
Result<std::map<uint64_t, std::string>> ParseSpecialSpellings(const std::string& json,
                                                              const std::string& file);

}  // namespace penstock::text
