#include "io/pack/directory.h"

#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "io/safetensors/regular_file.h"

namespace penstock::io {

std::string PackPath(const std::string& directory, std::string_view name) {
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

bool HasFile(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Result<std::unique_ptr<Pack>> Pack::Open(const std::string& directory) {
  const std::string path = PackPath(directory, kManifestName);
  const bool begun = HasFile(PackPath(directory, kJournalName)) ||
                     HasFile(PackPath(directory, kPartialStripesName));
  if (begun && !HasFile(path)) {
    return Refused(
        fmt::format("{}: the pack is not complete: {} is not there yet; 'penstock pack' with the "
                    "same options goes on where it stopped",
                    directory, kManifestName));
  }
  PENSTOCK_TRY(const std::string text, ReadWholeFile(path, kMaxManifestBytes));
  PENSTOCK_TRY(PackManifest manifest, PackManifest::Parse(text, path));
  PENSTOCK_TRY_VOID(CheckManifestSum(text, path));
  manifest.stripes_path = PackPath(directory, kStripesName);
  PENSTOCK_TRY(const RegularFile stripes, RegularFile::Open(manifest.stripes_path));
  if (stripes.size() != manifest.file_bytes) {
    return Refused(fmt::format("{}: expected {} bytes, as {} says, got {}", manifest.stripes_path,
                               manifest.file_bytes, path, stripes.size()));
  }
  return std::unique_ptr<Pack>(new Pack(directory, std::move(manifest)));
}

}  // namespace penstock::io
