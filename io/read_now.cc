#include "io/read_now.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <semaphore>
#include <utility>

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

Result<std::vector<BufferRef>> ReadMany(Reader& reader, std::vector<Placed> all, size_t depth,
                                        const GoOn& go_on) {
  std::vector<BufferRef> arrived(all.size());
  std::mutex mutex;
  std::condition_variable changed;
  size_t in_flight = 0;
  uint64_t done_bytes = 0;
  std::optional<Error> error;
  size_t next = 0;
  std::unique_lock lock(mutex);
  while (in_flight > 0 || (next < all.size() && !error)) {
    if (next < all.size() && in_flight < depth && !error) {
      const size_t i = next++;
      ++in_flight;
      lock.unlock();
      reader.Read(all[i].extent, std::move(all[i].buffer), ReadClass::kTrunk,
                  [&, i](Result<BufferRef> result) {
                    const std::lock_guard inner(mutex);
                    --in_flight;
                    if (result) {
                      arrived[i] = std::move(*result);
                      done_bytes += arrived[i].size();
                    } else if (!error) {
                      error = std::move(result.error());
                    }
                    changed.notify_one();
                  });
      lock.lock();
      continue;
    }
    changed.wait_for(lock, std::chrono::milliseconds(100));
    if (!go_on || error) continue;
    const uint64_t so_far = done_bytes;
    lock.unlock();
    const bool wanted = go_on(so_far);
    lock.lock();
    if (!wanted && !error) error = Cancelled("stopped while weights were read");
  }
  if (error) return std::move(*error);
  return arrived;
}

}  // namespace penstock::io
