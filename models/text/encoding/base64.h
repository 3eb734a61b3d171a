#pragma once

#include <string>
#include <string_view>

namespace penstock::text {

// Replaces `bytes` by what `text` encodes. False for anything but the canonical form of RFC 4648,
// section 4: whole groups of four, padding only at the end, unused bits zero.
bool DecodeBase64(std::string_view text, std::string& bytes);

}  // namespace penstock::text
