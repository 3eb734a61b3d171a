#pragma once

#include <functional>
#include <string_view>

namespace penstock {

// Where a library reports a degradation or a decision in one line ("huge pages refused, ...").
// Libraries never print: the program passes a sink that does. May be called from any thread;
// an empty function is allowed and means nobody listens.
using Notice = std::function<void(std::string_view line)>;

inline void Tell(const Notice& notice, std::string_view line) {
  if (notice) notice(line);
}

}  // namespace penstock
