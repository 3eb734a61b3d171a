#include "io/pack/read_stripe.h"

#include "io/safetensors/regular_file.h"

namespace penstock::io {

Result<std::vector<std::byte>> ReadStripe(const Pack& pack, size_t stripe) {
  PENSTOCK_TRY(const RegularFile file, RegularFile::Open(pack.stripes_path()));
  const Stripe& wanted = pack.manifest().stripes[stripe];
  std::vector<std::byte> bytes(wanted.stored_bytes);
  PENSTOCK_TRY_VOID(
      file.ReadAt(wanted.offset, {reinterpret_cast<char*>(bytes.data()), bytes.size()}));
  return bytes;
}

}  // namespace penstock::io
