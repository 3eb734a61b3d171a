#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::text {

// Ids in decimal, separated by commas, white space or both; one pair of square brackets around them
// is accepted, so that a JSON list reads too. kRefused, naming `source` and the byte offset, for
// anything else and for an id above 2^32 - 1. No id at all gives an empty list.
Result<std::vector<TokenId>> ParseIds(std::string_view text, std::string_view source);

// The same from a file of at most 64 MiB.
Result<std::vector<TokenId>> ReadIds(const std::string& path);

// "1,2,3"
std::string FormatIds(std::span<const TokenId> ids);

}  // namespace penstock::text
