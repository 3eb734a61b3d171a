#include "models/k3/commands/version.h"

namespace penstock::k3 {

const char* const kVersion = PENSTOCK_VERSION;

}  // namespace penstock::k3
