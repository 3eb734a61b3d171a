#pragma once

namespace penstock {

// Makes the calling thread compute with subnormal numbers, as the results of a run assume: a
// library built for speed may have set flush-to-zero in the thread that this one inherits its modes
// from.
void KeepSubnormals();

// False while this thread flushes subnormals to zero or reads them as zero.
bool SubnormalsKept();

}  // namespace penstock
