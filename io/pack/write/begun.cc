#include "io/pack/write/begun.h"

#include <utility>

#include "io/pack/directory.h"
#include "io/pack/write/journal.h"
#include "io/pack/write/output_file.h"
#include "io/safetensors/regular_file.h"

namespace penstock::io {

Result<std::optional<PackParameters>> BegunPack(const std::string& directory) {
  const std::string path = PackPath(directory, kJournalName);
  if (!HasFile(path)) return std::optional<PackParameters>();
  PENSTOCK_TRY(const std::string text, ReadWholeFile(path, kMaxManifestBytes));
  PENSTOCK_TRY(Journal journal, ParseJournal(text, path));
  if (journal.head_bytes == 0) return std::optional<PackParameters>();
  return std::optional(std::move(journal.parameters));
}

}  // namespace penstock::io
