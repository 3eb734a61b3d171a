#include "io/pack/sum/sum.h"

// The header gives every function as a static one, compiled here for what this file is compiled for.
#if defined(__AVX512F__)
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

namespace penstock::io {

SumFunction BuiltSumAvx512();

#if defined(__AVX512F__)

namespace {

uint64_t Sum(const std::byte* bytes, size_t size) { return XXH3_64bits(bytes, size); }

}  // namespace

SumFunction BuiltSumAvx512() { return Sum; }

#else

SumFunction BuiltSumAvx512() { return nullptr; }

#endif

}  // namespace penstock::io
