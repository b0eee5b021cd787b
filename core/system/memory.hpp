// What a process has freed, back to the system.
#pragma once

#include <cstdlib>  // says whether this is glibc

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace piecework {

// After large things were freed that what comes next has no use for: allocators keep memory that lies between what is
// still in use, and it would count towards the process's peak.
inline void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace piecework
