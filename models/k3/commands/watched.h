#pragma once

#include <functional>

#include "models/k3/commands/console.h"
#include "models/k3/pack/pack.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Long work that shows how far it is and that SIGINT, SIGTERM and SIGHUP stop in good order. Answers the exit
// code; what the work says in the end is its own business.
int RunWatched(Console& console, const std::function<Status(const PackWatch& watch)>& work);

}  // namespace penstock::k3
