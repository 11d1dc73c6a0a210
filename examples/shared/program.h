/* Shared by the example programs: how they use adze. */
#ifndef EXAMPLES_PROGRAM_H
#define EXAMPLES_PROGRAM_H

#include <adze/adze.h>

/* Sets callbacks of the calling thread's context. An error ends the program, so no return value
 * needs a check. A warning is printed on stderr once, however often the library gives it. */
void report_errors(void);

/* Seeds the default generator and sets the number of threads; 0 means one per processor. */
void seed_and_threads(int64_t seed, int64_t threads);

/* Prints the tree of the network, its number of parameters, and the build of adze. */
void print_network(adz_module *network);

/* The bytes of a tensor in a file as text, for free(). A zero follows the last of `size` bytes. */
char *read_bytes(adz_safetensors *file, const char *name, size_t *size);

#endif
