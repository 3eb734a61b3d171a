#pragma once

#include <string>
#include <system_error>

namespace penstock {

// What the system calls an errno: "No such file or directory".
inline std::string SystemMessage(int sys) { return std::generic_category().message(sys); }

}  // namespace penstock
