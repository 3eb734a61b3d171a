#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime/options/options.h"
#include "tests/models/k3/config/tiny_checkpoint.h"

namespace penstock::k3 {

struct ProcessResult {
  int exit_code = 0;  // Minus the signal when one ended it.
  std::string out;
  std::string err;
};

// The program as a process of its own: what a user sees of it.
class PenstockProcess {
 public:
  // stdout goes to `out_path` when that is not empty.
  explicit PenstockProcess(const std::vector<std::string>& arguments,
                           const std::string& out_path = "");
  ~PenstockProcess();
  PenstockProcess(const PenstockProcess&) = delete;
  PenstockProcess& operator=(const PenstockProcess&) = delete;

  void Signal(int signal) const;
  // What it has written to stderr so far.
  std::string ErrSoFar() const;
  // Ends it by force after `patience`, which then shows as exit code -9.
  ProcessResult Wait(std::chrono::seconds patience = std::chrono::seconds(120));

 private:
  std::string folder_;
  std::string out_path_;
  pid_t child_ = -1;
};

ProcessResult RunPenstock(const std::vector<std::string>& arguments);

// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The records of a JSON lines file; a line that is no JSON fails the test.
std::vector<Json> ReadRecords(const std::string& path);
std::vector<Json> RecordsOf(const std::vector<Json>& records, const std::string& event);

// Polls until the condition holds; false after `patience`.
bool Eventually(const std::function<bool()>& condition,
                std::chrono::seconds patience = std::chrono::seconds(60));

// Prompt `index` of the embedded checkpoint's expectations, computed by an independent reference.
struct ExpectedPrompt {
  std::string text;
  std::vector<uint32_t> ids;
  std::vector<uint32_t> greedy;
  std::string greedy_text;
};
ExpectedPrompt ReadExpected(size_t index);
std::string JoinIds(const std::vector<uint32_t>& ids, size_t count);

}  // namespace penstock::k3
