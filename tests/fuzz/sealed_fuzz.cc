// A sealed file of any bytes: refused, or read whole with facts and payload that it has room for.
// covers: io/sealed/

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "io/sealed/sealed_file.h"
#include "runtime/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::io;
  static const int fd = memfd_create("sealed", 0);
  PENSTOCK_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
  PENSTOCK_CHECK(pwrite(fd, data, size, 0) == static_cast<ssize_t>(size));
  auto reader = SealedReader::Open("/proc/self/fd/" + std::to_string(fd),
                                   {'s', 'e', 'a', 'l', 't', 'e', 's', 't'});
  if (!reader) {
    PENSTOCK_CHECK(!reader.error().message.empty());
    return 0;
  }
  PENSTOCK_CHECK(reader->facts().size() + reader->payload_bytes() < size);
  std::vector<std::byte> payload(reader->payload_bytes());
  const auto read = reader->Read(payload);
  PENSTOCK_CHECK(read || !read.error().message.empty());
  return 0;
}
