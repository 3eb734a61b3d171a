#include "io/read_now.h"

#include <optional>
#include <semaphore>

#include "runtime/memory/region.h"

namespace penstock::io {

Result<BufferRef> ReadInto(Reader& reader, const Extent& extent, MutableBuffer buffer) {
  std::optional<Result<BufferRef>> arrived;
  std::binary_semaphore done{0};
  reader.Read(extent, std::move(buffer), ReadClass::kDemanded, [&](Result<BufferRef> result) {
    arrived.emplace(std::move(result));
    done.release();
  });
  done.acquire();
  return std::move(*arrived);
}

Result<BufferRef> ReadNow(Reader& reader, const Extent& extent) {
  PENSTOCK_TRY(MutableBuffer buffer, AllocateBuffer(reader.BufferBytes(extent)));
  return ReadInto(reader, extent, std::move(buffer));
}

}  // namespace penstock::io
