#include "runtime/result.h"

namespace penstock {

int ExitCode(const Error& error) {
  switch (error.code) {
    case ErrorCode::kFailed:
      return 1;
    case ErrorCode::kRefused:
      return 2;
    case ErrorCode::kUnsound:
      return 4;
    case ErrorCode::kCancelled:
      return 130;
  }
  return 1;
}

}  // namespace penstock
