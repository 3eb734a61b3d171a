#include "models/k3/bench/io/fio.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/options/options.h"
#include "runtime/process/system_message.h"

namespace penstock::k3 {
namespace {

// The C library's allocator maps large buffers; with this it asks for 2 MiB pages as well.
constexpr std::string_view kHugePages = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";

std::vector<char*> Environment() {
  std::vector<char*> out;
  const std::string_view name = kHugePages.substr(0, kHugePages.find('=') + 1);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(name)) out.push_back(*entry);
  }
  out.push_back(const_cast<char*>(kHugePages.data()));
  out.push_back(nullptr);
  return out;
}

// Runs fio and answers its standard output; its messages are dropped.
Result<std::string> Output(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Failed("no pipe: " + SystemMessage(errno), errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int sys =
      posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), Environment().data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; sys == 0 && (got = read(ends[0], part.data(), part.size())) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) out.append(part.data(), static_cast<size_t>(got));
  }
  close(ends[0]);
  if (sys != 0) return Failed("fio cannot be run: " + SystemMessage(sys), sys);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Failed(fmt::format("fio ended with status {:#x}", status));
  }
  return out;
}

}  // namespace

std::span<const FioConfig> FioConfigs() {
  static const std::array<FioConfig, 3> configs = {{
      {"fio 1M qd4", {"--bs=1M", "--iodepth=4"}},
      {"fio 4M qd4", {"--bs=4M", "--iodepth=4"}},
      {"fio 4M qd16 fixed", {"--bs=4M", "--iodepth=16", "--fixedbufs=1", "--registerfiles=1"}},
  }};
  return configs;
}

Result<std::string> FioVersion() {
  PENSTOCK_TRY(std::string version, Output({"fio", "--version"}));
  while (!version.empty() && version.back() == '\n') version.pop_back();
  if (!version.starts_with("fio-")) return Failed("what is called fio is not fio");
  return version;
}

Result<FioCost> RunFio(const FioConfig& config, const std::string& file, uint64_t offset,
                       uint64_t bytes) {
  // A colon separates files.
  std::string name;
  for (const char c : file) name += c == ':' ? "\\:" : std::string(1, c);
  std::vector<std::string> arguments = {"fio",
                                        "--name=read",
                                        "--filename=" + name,
                                        "--rw=read",
                                        "--readonly",
                                        "--direct=1",
                                        "--ioengine=io_uring",
                                        "--thread",
                                        "--output-format=json",
                                        fmt::format("--offset={}", offset),
                                        fmt::format("--size={}", bytes)};
  arguments.insert(arguments.end(), config.arguments.begin(), config.arguments.end());
  PENSTOCK_TRY(const std::string out, Output(std::move(arguments)));
  return ParseFio(out);
}

Result<FioCost> ParseFio(std::string_view json) {
  const Json all = Json::parse(json, nullptr, false);
  const auto number = [](const Json& of, const char* name) {
    return of.contains(name) && of[name].is_number() ? of[name].get<double>() : -1;
  };
  const Json* job = nullptr;
  if (all.is_object() && all.contains("jobs") && all["jobs"].is_array() &&
      all["jobs"].size() == 1 && all["jobs"][0].is_object() && all["jobs"][0].contains("read") &&
      all["jobs"][0]["read"].is_object()) {
    job = &all["jobs"][0];
  }
  if (job == nullptr) return Failed("fio's output holds no job that reads");
  const Json& reads = (*job)["read"];
  const double bytes = number(reads, "io_bytes"), rate = number(reads, "bw_bytes");
  const double user = number(*job, "usr_cpu"), system = number(*job, "sys_cpu");
  const double ms = number(*job, "job_runtime");
  if (bytes <= 0 || rate <= 0 || user < 0 || system < 0 || ms < 0) {
    return Failed("fio's output lacks a number");
  }
  return FioCost{static_cast<uint64_t>(bytes), rate, (user + system) / 100 * ms / 1000};
}

}  // namespace penstock::k3
