/* The C program as it is made from a trace. */
#ifndef ADZI_EXPORT_C99_PROGRAM_H
#define ADZI_EXPORT_C99_PROGRAM_H

#include "export/c99/c99.h"
#include "export/trace.h"

/** Fills the values, memories and calls of a program. The trace must outlive it. False with the
 * error recorded. */
bool adzi_c99_program(adzi_c99 *c, const adzi_trace *trace);

/** Element i of a constant. */
double adzi_c99_contents(const adzi_c99_memory *m, int64_t i);

/** Releases what a program holds. */
void adzi_c99_free(adzi_c99 *c);

#endif
