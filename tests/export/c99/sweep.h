/* Many exported cases as one program in C, which is compiled once. */
#ifndef ADZE_TESTS_EXPORT_C99_SWEEP_H
#define ADZE_TESTS_EXPORT_C99_SWEEP_H

#include "export/sweep/sweep.h"

/** A function of the program: the arguments of k<number>_run, and where its result goes. */
typedef void (*sweep_function)(const void *const *in, void *y);

/** The cases of one operator. */
typedef struct sweep_program sweep_program;

/** A program without cases, which is compiled in `folder`. */
sweep_program *program_new(const char *folder);

/** The number of the case that is written next; the prefix of its names is k<number>. */
int program_next(const sweep_program *p);

/** Adds the case that was written as these two files, the first of which includes "k.h". */
void program_add(sweep_program *p, const char *source, const char *header);

/** Goes on to the next case after one that was refused. */
void program_skip(sweep_program *p);

/** Compiles the program as strict C99 and loads it. Cases that do not compile are left out. */
void program_compile(sweep_program *p);

/** The function of the next case in the order in which they were added or skipped; NULL if it was
 * refused or does not compile. In the latter case `diagnostic` is what the compiler says; else
 * NULL.
 */
sweep_function program_function(sweep_program *p, const char **diagnostic);

void program_free(sweep_program *p);

#endif
