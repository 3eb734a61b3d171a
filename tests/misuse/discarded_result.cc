// An error that nobody looks at does not compile.
// expect: nodiscard
#include "runtime/result.h"

penstock::Result<int> Number();
penstock::Status Work();

bool Both() {
#ifdef MISUSE
  Number();
#endif
  return Number().has_value() && Work().has_value();
}
