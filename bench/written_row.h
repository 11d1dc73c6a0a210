/* A row as C: a plan writes its function, which is compiled and called. */
#ifndef ADZE_BENCH_WRITTEN_ROW_H
#define ADZE_BENCH_WRITTEN_ROW_H

#include "bench.h"

enum { WRITTEN_INPUTS = 4 };

typedef struct {
    void (*call)(void *const *inputs, void *result);
    void *inputs[WRITTEN_INPUTS]; /* the elements of the inputs */
    void *result;                 /* memory for the elements of the result */
    adz_dtype dtype;
    int64_t numel; /* of the result */
} written_row;

/* Writes the function, which computes one result from n inputs, as C, compiles it by
 * "cc -O3 -march=native" and loads it. Ends the program if that fails. */
void make_written_row(
    written_row *row, adz_plan_function compute, void *user, adz_tensor *const *inputs, size_t n);

/* Calls the function of a written_row. */
void run_written_row(void *row);

/* The mean square of the result of the last call. */
double written_value(const written_row *row);

#endif
