#pragma once

namespace penstock::k3 {

// The program's version, as the build declares it.
extern const char* const kVersion;

}  // namespace penstock::k3
