#include "models/k3/version.h"

namespace penstock::k3 {

const char* const kVersion = PENSTOCK_VERSION;

}  // namespace penstock::k3
