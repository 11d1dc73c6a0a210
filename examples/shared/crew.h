/* Runs several pieces of work at a time. */
#ifndef EXAMPLES_CREW_H
#define EXAMPLES_CREW_H

#include <stddef.h>
#include <stdint.h>

/* Calls `work` for the pieces 0, 1, ... count - 1, each once, in --jobs threads of their own, and
 * returns when all are done. A thread has a context of its own, so random numbers of its own, and
 * adze runs on that thread alone; an error ends the program. */
void run_crew(int64_t jobs, size_t count, void (*work)(size_t piece, void *user), void *user);

#endif
