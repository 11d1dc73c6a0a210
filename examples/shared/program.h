/* Shared by the example programs: how they use adze. */
#ifndef EXAMPLES_PROGRAM_H
#define EXAMPLES_PROGRAM_H

#include <adze/adze.h>

/* Sets callbacks of the calling thread's context. An error ends the program, so no return value
 * needs a check. A warning is printed on stderr once, however often the library gives it. */
void report_errors(void);

/* Seeds the default generator; `threads` 0: as many as there are processors. */
void seed_and_threads(int64_t seed, int64_t threads);

/* The network's tree, its size and what adze is built of. */
void print_network(adz_module *network);

/* A tensor of bytes in a file as text, for free(); terminated beyond its size. */
char *read_bytes(adz_safetensors *file, const char *name, size_t *size);

#endif
