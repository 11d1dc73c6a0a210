/* Sums that other operators share. */
#ifndef ADZI_OPS_REDUCTION_SUM_H
#define ADZI_OPS_REDUCTION_SUM_H

#include "base/threads/addresses.h"
#include "ops/reduction/reduce.h"

enum { ADZI_SUM_ROWS_MOST = 512 }; /* rows that are one block to the sum's kernels */

/** The argument of the kernel sum_rows, out[j] = sum over i of in[i, j] for in[n, h]; units are
 * columns. */
typedef struct adzi_sum_rows_args {
    const char *in;
    char *out;
    int64_t n, h; /* 1 or more; n at most ADZI_SUM_ROWS_MOST */
} adzi_sum_rows_args;

ADZI_ADDRESSES(adzi_sum_rows_args, in, out);

/** y = scale * sum of x over the dimensions in `mask`, without the tape. Cannot fail. */
void adzi_sum_into(adz_tensor *y, const adz_tensor *x, unsigned mask, double scale);

/** adzi_sum_into with a scale that is read from memory when the launch runs. */
void adzi_sum_into_factor(adz_tensor *y, const adz_tensor *x, unsigned mask, const double *factor);

/** y[h] = the sum of the n rows of contiguous g[n, h]. Cannot fail. */
void adzi_sum_rows(adz_tensor *y, const adz_tensor *g, int64_t n);

/**
 * sums[h] = the sum of the n rows of contiguous g[n, h], f32 or f64, in f64. n and h are 1 or more.
 * Use it inside a kernel: it launches nothing.
 */
void adzi_sum_rows_within(double *sums, const char *g, adz_dtype dtype, int64_t n, int64_t h);

/** Sums `t` over the dimensions in which `shape` was broadcast to it; the result has this shape. An
 * expression of operators. */
adz_tensor *adzi_sum_to(adz_tensor *t, adz_shape shape);

#endif
