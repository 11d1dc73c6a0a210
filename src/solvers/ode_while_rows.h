/* The rows in which a while loop of steps keeps what the backward needs, and the times in a step.
 */
#ifndef ADZI_SOLVERS_ODE_WHILE_ROWS_H
#define ADZI_SOLVERS_ODE_WHILE_ROWS_H

#include "solvers/ode_control.h"

/** Tensors with a row for each step. */
typedef struct adzi_ode_rows {
    adz_tensor *states; /* [max_steps, ...], before each step */
    adz_tensor *slopes; /* [max_steps, ...], f there; NULL: not kept */
    adz_tensor *spans;  /* [max_steps, 3], f64: the begin of each step, its length and its end */
} adzi_ode_rows;

/** Makes room for max_steps rows. False with the error recorded. */
bool adzi_ode_rows_new(const adzi_ode *ode, const adz_tensor *y0, bool slopes, adzi_ode_rows *rows);

/** A row, or what is to be kept in it. */
typedef struct adzi_ode_row {
    adz_tensor *y, *slope;
    adz_tensor *begin, *length, *end; /* scalars, f64 */
} adzi_ode_row;

/** Writes row number `at`, an i64 scalar. False with the error recorded. */
bool adzi_ode_rows_keep(const adzi_ode_rows *rows, const adz_tensor *at, const adzi_ode_row *row);

/** Reads row number `at` into new tensors. False with the error recorded. */
bool adzi_ode_rows_read(
    const adzi_ode_rows *rows, const adz_tensor *at, const adz_tensor *y0, adzi_ode_row *row);

/** Which of the times lie in a step. */
typedef struct adzi_ode_inside {
    adz_tensor *range;   /* [3], i64: the first time within, how many, and the time at the end or -1
                          */
    adz_tensor *weights; /* [T, n], f64: of the terms of the dense output at the times within */
    int columns[ADZI_COMBINATION_TERMS], n; /* which stages these are */
} adzi_ode_inside;

/** Finds the times, f64[T], that lie in step `at`. False with the error recorded. */
bool adzi_ode_rows_inside(
    const adzi_ode_rows *rows, const adz_tensor *at, const adz_tensor *times, adzi_ode_inside *in);

/** The row of `dy`, which is contiguous, for the time at the end of the step; -0 if there is none.
 * NULL with the error recorded. */
adz_tensor *adzi_ode_rows_end(const adzi_ode_inside *in, const adz_tensor *dy);

#endif
