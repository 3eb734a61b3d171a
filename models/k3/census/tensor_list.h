#pragma once

#include <string>

#include "io/checkpoint.h"

namespace penstock::k3 {

// One line for each tensor, in the checkpoint's order: name, dtype, shape, file, offset and bytes,
// separated by tabs, after a line with these headings. Names and files are escaped as in JSON where
// they hold control characters.
std::string TensorList(const io::Checkpoint& checkpoint);

}  // namespace penstock::k3
