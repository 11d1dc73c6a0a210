/* Runs several pieces of work at a time. */
#ifndef EXAMPLES_CREW_H
#define EXAMPLES_CREW_H

#include <stddef.h>
#include <stdint.h>

/* Calls `work` once for each of the pieces 0 .. count - 1, in `jobs` new threads, and returns after
 * the last one. Each thread has its own context and therefore its own random numbers. adze uses one
 * thread for each piece. An error ends the program. */
void run_crew(int64_t jobs, size_t count, void (*work)(size_t piece, void *user), void *user);

#endif
