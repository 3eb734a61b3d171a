#include "runtime/output/events.h"

#include <unistd.h>

#include "runtime/output/file_out.h"

namespace penstock {

Result<std::unique_ptr<EventLog>> EventLog::Create(const std::string& path, std::string schema,
                                                   bool replace) {
  PENSTOCK_TRY(const int fd, OpenForWriting(path, replace));
  return std::unique_ptr<EventLog>(new EventLog(path, std::move(schema), fd));
}

EventLog::~EventLog() { ::close(fd_); }

std::string EventLog::Line(std::string_view name, const Json& body) const {
  Json record = {{"schema", schema_}, {"event", name}};
  record.update(body);
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status EventLog::Write(std::string_view name, const Json& body) {
  const std::string line = Line(name, body);
  const std::lock_guard lock(mutex_);
  if (state_) state_ = WriteLine(line);
  return state_;
}

bool EventLog::WriteUnlessBusy(std::string_view name, const Json& body) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (state_) state_ = WriteLine(Line(name, body));
  return true;
}

Status EventLog::WriteLine(const std::string& line) {
  const off_t start = ::lseek(fd_, 0, SEEK_CUR);
  auto written = WriteAll(fd_, line, path_);
  // Only what this line left behind is taken back. A pipe has no position and nothing to take.
  if (!written && start >= 0 && ::ftruncate(fd_, start) == 0) ::lseek(fd_, start, SEEK_SET);
  return written;
}

}  // namespace penstock
