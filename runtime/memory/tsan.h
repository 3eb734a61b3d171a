#pragma once

// PENSTOCK_TSAN is defined in builds for ThreadSanitizer, whichever compiler makes them.
#if defined(__SANITIZE_THREAD__)
#define PENSTOCK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PENSTOCK_TSAN 1
#endif
#endif
