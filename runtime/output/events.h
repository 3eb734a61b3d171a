#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "runtime/options/options.h"
#include "runtime/result.h"

namespace penstock {

// Records as JSON lines. Invariants:
//  1. Every record is one line, complete in the file when Write returns; a line that did not fit on
//     the disk is taken back, so that what is there can always be read.
//  2. The first failure is final: every later Write returns it and writes nothing.
// Threads: any may write; lines never mix.
class EventLog {
 public:
  // Creates `path`. A regular file that is already there is refused unless `replace`; a pipe or a
  // device is written to. `schema` is put at the head of every record.
  static Result<std::unique_ptr<EventLog>> Create(const std::string& path, std::string schema,
                                                  bool replace);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // {"schema": ..., "event": name, fields of `body`...}. Text that is not UTF-8 is written with
  // replacement characters.
  Status Write(std::string_view name, const Json& body);

  // The same for a last word that must not wait for another writer: false when one is at work.
  bool WriteUnlessBusy(std::string_view name, const Json& body);

 private:
  EventLog(std::string path, std::string schema, int fd)
      : path_(std::move(path)), schema_(std::move(schema)), fd_(fd) {}
  std::string Line(std::string_view name, const Json& body) const;
  Status WriteLine(const std::string& line);

  std::string path_;
  std::string schema_;
  int fd_;
  std::mutex mutex_;
  Status state_;  // The first failure.
};

}  // namespace penstock
