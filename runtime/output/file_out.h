#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.h"

namespace penstock {

// Opens a file for writing from its start; the caller closes the descriptor. A regular file that
// exists is refused unless `replace` (it is then emptied); a pipe or a device is opened as it is.
Result<int> OpenForWriting(const std::string& path, bool replace);

// All of `bytes`, through short writes and interruptions. On an error some may have been written.
Status WriteAll(int fd, std::string_view bytes, std::string_view path);

// A result file that never shows a half-written last record under its name: records are appended to
// PATH.partial, which takes its final name in Finish. After a crash what was written is found under
// the partial name. A device or a pipe is written to directly.
class RecordFile {
 public:
  static Result<RecordFile> Create(const std::string& path, bool replace);
  RecordFile(RecordFile&& other) noexcept;
  RecordFile& operator=(RecordFile&& other) noexcept;
  ~RecordFile();  // Without Finish the partial file stays.

  // Appends one record whole, or takes it back and fails.
  Status Append(std::string_view record);
  // Takes away what has not got its name; nothing can be appended afterwards.
  void Discard();
  // Gives the file its name once it has reached the device; nothing can be appended afterwards. Without a single record the
  // partial file is removed instead; after a failed Append it keeps the partial name.
  Status Finish();

 private:
  RecordFile(std::string path, std::string written_path, int fd, bool replace)
      : path_(std::move(path)),
        written_path_(std::move(written_path)),
        fd_(fd),
        replace_(replace) {}
  Status Rename();

  std::string path_;
  std::string written_path_;  // path_ itself for a device.
  int fd_ = -1;
  bool replace_ = false;
  bool failed_ = false;
  bool named_ = false;
  uint64_t bytes_ = 0;  // Of whole records.
};

}  // namespace penstock
