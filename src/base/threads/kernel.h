/* The type of what a launch runs on several threads. */
#ifndef ADZI_BASE_THREADS_KERNEL_H
#define ADZI_BASE_THREADS_KERNEL_H

#include <stdint.h>

/** The type of every kernel. `args` points to the caller's struct of arguments. The call computes
 * the units [begin, end), which are elements, rows or blocks, depending on the kernel. */
typedef void (*adzi_kernel)(const void *args, int64_t begin, int64_t end);

#endif
