#include <exception>
#include <string>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "models/k3/commands/commands.h"
#include "models/k3/commands/console.h"

namespace {

// A standard stream that was closed would be the number of the next file that is opened, and what is
// printed would go into it. Opened for reading only, a write to it fails as it did before.
void KeepStandardStreamsTaken() {
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that went away, or a file that grew to its limit, is an error of the write, which ends
  // the run in order.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  KeepStandardStreamsTaken();
  penstock::k3::Console console;
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return penstock::k3::RunCommand(console, arguments);
  } catch (const std::exception& stray) {  // Above all: no memory.
    return console.Fail(penstock::Failed(stray.what()));
  }
}
