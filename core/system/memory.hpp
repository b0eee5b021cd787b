// Returns freed memory to the operating system.
#pragma once

#include <cstdlib>  // defines __GLIBC__

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace piecework {

// Call it after large objects were freed. The allocator keeps free memory that lies between blocks in use, and it would
// count towards the process's peak memory.
inline void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace piecework
