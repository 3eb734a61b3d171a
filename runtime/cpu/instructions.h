#pragma once

namespace penstock {

// What this CPU can run and the operating system saves, in the two sets that objects of ours are
// compiled for. An object that needs less than its set asks for the whole of it all the same: CPUs
// come with all of these or with none.
bool CpuHasAvx2();    // AVX2, FMA, F16C, BMI1, BMI2, LZCNT, POPCNT.
bool CpuHasAvx512();  // All of that, and AVX-512 F, BW, DQ, VL, VBMI, VBMI2, VPOPCNTDQ.

}  // namespace penstock
