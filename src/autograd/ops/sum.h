/* Sums that other operators share. */
#ifndef ADZI_AUTOGRAD_OPS_SUM_H
#define ADZI_AUTOGRAD_OPS_SUM_H

#include "tensor/isa.h"
#include "tensor/tensor.h"

/** A reduction as kernels see it: the kept dimensions and the reduced ones, coalesced. */
typedef struct adzi_reduce_args {
    const char *in;
    char *out;    /* contiguous */
    double scale; /* of each result; 1/n for a mean */
    int n_kept, n_reduced;
    int64_t kept[ADZ_MAX_RANK], kept_strides[ADZ_MAX_RANK];
    int64_t reduced[ADZ_MAX_RANK], reduced_strides[ADZ_MAX_RANK];
    int64_t n; /* elements per result */
} adzi_reduce_args;

/** Fills everything but `out` and `scale`; returns the number of results. */
int64_t adzi_reduce_args_of(adzi_reduce_args *args, const adz_tensor *x, unsigned mask);

/** y = scale * sum of x over the dimensions in `mask`, without the tape. Cannot fail. */
void adzi_sum_into(adz_tensor *y, const adz_tensor *x, unsigned mask, double scale);

/** y[h] = the sum of the n rows of contiguous g[n, h]. Cannot fail. */
void adzi_sum_rows(adz_tensor *y, const adz_tensor *g, int64_t n);

#endif
