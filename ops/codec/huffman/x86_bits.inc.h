// What streams.inc.h needs of the CPU, for every instruction set that has BMI2 and LZCNT. Included
// inside an unnamed namespace.

PENSTOCK_INLINE void Fence() { _mm_sfence(); }

PENSTOCK_INLINE uint64_t CountLeadingZeros(uint64_t value) {
  return static_cast<uint64_t>(_lzcnt_u64(value));
}

PENSTOCK_INLINE uint64_t LowBits(uint64_t value) { return _bzhi_u64(value, kIndexBits); }
