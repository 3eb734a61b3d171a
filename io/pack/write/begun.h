#pragma once

#include <optional>
#include <string>

#include "io/pack/manifest.h"
#include "runtime/result.h"

namespace penstock::io {

// The parameters of the pack that was begun in `directory` and is not complete; nothing where there
// is none, or where it was stopped before they were written. kRefused when the journal is none.
Result<std::optional<PackParameters>> BegunPack(const std::string& directory);

}  // namespace penstock::io
