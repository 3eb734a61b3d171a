#include "runtime/process/signals.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace penstock {
namespace {

using SteadyClock = std::chrono::steady_clock;

// SIGHUP comes when the terminal goes; what nohup starts ignores it, and it never arrives.
constexpr int kWatched[] = {SIGINT, SIGTERM, SIGHUP};

sigset_t WatchedSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kWatched) ::sigaddset(&set, signal);
  return set;
}

// -1 (no end) until there is a deadline, then what is left of it.
int TimeoutMs(bool stopping, SteadyClock::time_point deadline) {
  if (!stopping) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

}  // namespace

Result<std::unique_ptr<StopSignals>> StopSignals::Start(Actions actions) {
  const sigset_t set = WatchedSignals();
  const int signal_fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  const int end_fd = ::eventfd(0, EFD_CLOEXEC);
  if (signal_fd < 0 || end_fd < 0) {
    const int sys = errno;
    if (signal_fd >= 0) ::close(signal_fd);
    return Failed(fmt::format("cannot watch for signals: {}", std::strerror(sys)), sys);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return std::unique_ptr<StopSignals>(new StopSignals(std::move(actions), signal_fd, end_fd));
}

StopSignals::StopSignals(Actions actions, int signal_fd, int end_fd)
    : actions_(std::move(actions)), signal_fd_(signal_fd), end_fd_(end_fd) {
  thread_ = std::thread([this] { Watch(); });
}

namespace {

volatile sig_atomic_t first_signal = 0;

// The process is on its way out because of `first`: another signal, also one that waits already, ends
// it at once and with the same status.
void EndAtOnceFromNowOn(int first) {
  first_signal = first;
  struct sigaction action = {};
  action.sa_handler = [](int) { ::_exit(128 + first_signal); };
  for (const int signal : kWatched) ::sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignals::~StopSignals() {
  const uint64_t one = 1;
  while (::write(end_fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
  ::close(signal_fd_);
  ::close(end_fd_);
  if (received_.load() != 0) EndAtOnceFromNowOn(received_.load());
  const sigset_t set = WatchedSignals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void StopSignals::Watch() {
  SteadyClock::time_point deadline;
  std::array<pollfd, 2> fds = {{{signal_fd_, POLLIN, 0}, {end_fd_, POLLIN, 0}}};
  for (;;) {
    const bool stopping = received_.load() != 0;
    const int ready = ::poll(fds.data(), fds.size(), TimeoutMs(stopping, deadline));
    if (ready < 0) continue;  // EINTR
    if (ready == 0) {
      if (!respite_ && !respite_ended_.exchange(false)) GiveUp();
      deadline = SteadyClock::now() + std::chrono::nanoseconds(actions_.grace.ns);
      continue;
    }
    if (fds[1].revents != 0) return;
    const int signal = TakeSignal();
    if (signal == 0) continue;
    if (stopping) GiveUp();
    respite_ended_ = false;
    received_.store(signal);
    deadline = SteadyClock::now() + std::chrono::nanoseconds(actions_.grace.ns);
    if (actions_.on_stop) actions_.on_stop(signal);
  }
}

int StopSignals::TakeSignal() {
  signalfd_siginfo info;
  const ssize_t got = ::read(signal_fd_, &info, sizeof(info));
  return got == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

void StopSignals::GiveUp() {
  if (actions_.on_give_up) actions_.on_give_up();
  ::_exit(128 + received_.load());
}

}  // namespace penstock
