// A result without a value still carries an error.
// expect: nodiscard
#include "runtime/result.h"

penstock::Status Work();

bool Done() {
#ifdef MISUSE
  Work();
#endif
  return Work().has_value();
}
