#include "tests/models/k3/commands/penstock_process.h"

#include <filesystem>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/small_file.h"

namespace penstock::k3 {
namespace {

void Redirect(const std::string& path, int descriptor) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  if (fd < 0 || ::dup2(fd, descriptor) < 0) ::_exit(127);
}

[[noreturn]] void Execute(const std::vector<std::string>& arguments) {
  std::vector<char*> words = {const_cast<char*>(PENSTOCK_BINARY)};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(PENSTOCK_BINARY, words.data());
  ::_exit(127);
}

std::string MakeFolder() {
  std::string pattern = ::testing::TempDir() + "penstock_XXXXXX";
  return ::mkdtemp(pattern.data());
}

}  // namespace

PenstockProcess::PenstockProcess(const std::vector<std::string>& arguments,
                                 const std::string& out_path)
    : folder_(MakeFolder()), out_path_(out_path.empty() ? folder_ + "/out" : out_path) {
  child_ = ::fork();
  if (child_ == 0) {
    Redirect("/dev/null", 0);
    Redirect(out_path_, 1);
    Redirect(folder_ + "/err", 2);
    Execute(arguments);
  }
}

PenstockProcess::~PenstockProcess() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  std::filesystem::remove_all(folder_);
}

void PenstockProcess::Signal(int signal) const { ::kill(child_, signal); }

std::string PenstockProcess::ErrSoFar() const {
  const auto text = ReadSmallFile(folder_ + "/err");
  return text ? *text : "";
}

ProcessResult PenstockProcess::Wait(std::chrono::seconds patience) {
  int status = 0;
  if (!Eventually([&] { return ::waitpid(child_, &status, WNOHANG) == child_; }, patience)) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, &status, 0);
  }
  child_ = -1;
  ProcessResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  if (std::filesystem::is_regular_file(out_path_)) result.out = *ReadSmallFile(out_path_);
  result.err = *ReadSmallFile(folder_ + "/err");
  return result;
}

ProcessResult RunPenstock(const std::vector<std::string>& arguments) {
  return PenstockProcess(arguments).Wait();
}

TemporaryFolder::TemporaryFolder() : path_(MakeFolder()) {}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

std::vector<Json> ReadRecords(const std::string& path) {
  const auto text = ReadSmallFile(path);
  EXPECT_TRUE(text) << path;
  std::vector<Json> records;
  if (!text) return records;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    records.push_back(Json::parse(line, nullptr, false));
    EXPECT_FALSE(records.back().is_discarded()) << line;
  }
  return records;
}

std::vector<Json> RecordsOf(const std::vector<Json>& records, const std::string& event) {
  std::vector<Json> out;
  for (const Json& record : records) {
    if (record.value("event", "") == event) out.push_back(record);
  }
  return out;
}

bool Eventually(const std::function<bool()>& condition, std::chrono::seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

ExpectedPrompt ReadExpected(size_t index) {
  const Json all = Json::parse(*ReadSmallFile(std::string(kTiny) + "/k3-tiny-expected.json"));
  const Json& prompt = all["prompts"][index];
  return {.text = prompt["text"],
          .ids = prompt["ids"],
          .greedy = prompt["greedy"],
          .greedy_text = prompt["greedy_text"]};
}

std::string JoinIds(const std::vector<uint32_t>& ids, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + std::to_string(ids[i]);
  return out;
}

}  // namespace penstock::k3
