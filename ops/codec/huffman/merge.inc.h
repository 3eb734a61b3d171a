// Merging of decoded symbols with the rest of their elements, as far as it is the same everywhere.
// Included inside an unnamed namespace.

constexpr size_t kGroup = 32;          // Elements that are merged at once: 64 bytes of output.
constexpr intptr_t kRestAhead = 1024;  // Bytes of the rest that are asked for before, downwards.

// Of an address that may not exist, which the CPU ignores; the sum is one of integers. Always inline:
// GCC 12 takes a function that only prefetches for one without effect and drops it.
PENSTOCK_INLINE void Prefetch(const void* p, intptr_t ahead) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<intptr_t>(p) + ahead));
}

PENSTOCK_INLINE uint16_t Element(uint8_t symbol, uint8_t rest) {
  return static_cast<uint16_t>((rest & 0x80u) << 8 | symbol << 7 | (rest & 0x7fu));
}
