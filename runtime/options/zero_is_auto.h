#pragma once

namespace penstock {

// In the place of the smallest value of a ByteSize option: 0 is written "auto", and both are read.
struct ZeroIsAuto {};
inline constexpr ZeroIsAuto kZeroIsAuto;

}  // namespace penstock
