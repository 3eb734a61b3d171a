#include <exception>
#include <string>
#include <vector>

#include <signal.h>

#include "models/k3/commands/commands.h"
#include "models/k3/commands/console.h"

int main(int argc, char** argv) {
  // A reader that went away is an error of the write, which ends the run in order.
  ::signal(SIGPIPE, SIG_IGN);
  penstock::k3::Console console;
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return penstock::k3::RunCommand(console, arguments);
  } catch (const std::exception& stray) {  // Above all: no memory.
    return console.Fail(penstock::Failed(stray.what()));
  }
}
