#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/notice.h"

namespace penstock {

// Lines a library told.
class Notices {
 public:
  Notice Sink() {
    return [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    };
  }
  // Lines that contain `part`.
  size_t Count(std::string_view part) {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const std::string& line : lines_) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
  }
  std::string All() {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace penstock
