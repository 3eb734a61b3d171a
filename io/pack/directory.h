#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "io/pack/manifest.h"
#include "io/reader.h"
#include "runtime/result.h"

namespace penstock::io {

// A complete pack, opened from its manifest alone: no stripe is read. Threads: immutable.
class Pack {
 public:
  // kRefused: no pack there, one that is not complete (the message says how to go on with it), a
  // manifest that is wrong (PackManifest::Parse), a stripes.bin of another size than it says.
  static Result<std::unique_ptr<Pack>> Open(const std::string& directory);

  const std::string& directory() const { return directory_; }
  const std::string& stripes_path() const { return manifest_.stripes_path; }
  const PackManifest& manifest() const { return manifest_; }

  // The stripe's stored bytes, for a Reader that has stripes_path() as this file.
  Extent extent(size_t stripe, FileId file) const {
    const Stripe& s = manifest_.stripes[stripe];
    return {.file = file, .offset = s.offset, .bytes = s.stored_bytes};
  }

 private:
  Pack(std::string directory, PackManifest manifest)
      : directory_(std::move(directory)), manifest_(std::move(manifest)) {}

  const std::string directory_;
  const PackManifest manifest_;
};

// DIR/name.
std::string PackPath(const std::string& directory, std::string_view name);
// Whether a regular file of this name is there.
bool HasFile(const std::string& path);

}  // namespace penstock::io
