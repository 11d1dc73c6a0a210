/* Reductions: how a kernel sees the elements of each result, and how they are launched. */
#ifndef ADZI_OPS_REDUCTION_REDUCE_H
#define ADZI_OPS_REDUCTION_REDUCE_H

#include "base/threads/addresses.h"
#include "base/isa.h"
#include "tensor/tensor.h"

/**
 * A reduction as kernels see it: the kept dimensions and the reduced ones, coalesced. A result's
 * elements are numbered 0 .. n-1 in the order of the reduced dimensions.
 */
typedef struct adzi_reduce_args {
    const char *in;
    char *out;            /* contiguous */
    char *indices;        /* i64, where in 0 .. n-1 a result was found; or NULL */
    double scale;         /* sums: of each result; 1/n for a mean */
    const double *factor; /* read instead of scale when the launch runs; NULL: scale counts */
    double p[2];          /* the operator's numbers */
    int n_kept, n_reduced;
    int64_t kept[ADZ_MAX_RANK], kept_strides[ADZ_MAX_RANK];
    int64_t reduced[ADZ_MAX_RANK], reduced_strides[ADZ_MAX_RANK];
    int64_t n; /* elements per result */

    /* Note [Few results of many elements]
     *
     * A result of many elements is cut into blocks, so that threads share its work. The bounds of
     * the blocks depend on the shape only, so the number of threads changes no bit. A first pass
     * leaves the state of every block in `partial`. A second one joins the states in order.
     *
     * `partial` is memory from adzi_alloc, because a launch must not point to the stack. If memory
     * is refused it is on the stack all the same: a reduction cannot fail, and a step in which
     * memory was refused is not replayed. */
    char *partial;         /* NULL where results are finished in one pass */
    int64_t blocks, block; /* per result; elements of each but the last, a multiple of the chunk */
} adzi_reduce_args;

ADZI_ADDRESSES(adzi_reduce_args, in, out, indices, factor, partial);

enum {
    ADZI_REDUCE_GRAIN = 32768,  /* elements worth a thread, and the least in a block */
    ADZI_REDUCE_PARTIAL = 8192, /* bytes of states of blocks */
    ADZI_REDUCE_CHUNK = 512     /* elements that a kernel sees side by side */
};

/** By what the kernels of sums multiply each result. */
static inline double adzi_reduce_scale(const adzi_reduce_args *args)
{
    return args->factor != NULL ? *args->factor : args->scale;
}

/** Fills what describes x's dimensions; returns the number of results. */
int64_t adzi_reduce_args_of(adzi_reduce_args *args, const adz_tensor *x, unsigned mask);

/** The two passes of a reduction made by REDUCTION in reduce.kernel.h. */
typedef struct adzi_reducer {
    adzi_kernel run, join;
    size_t state; /* bytes, 32 at most */
    double p[2];  /* the operator's numbers */
} adzi_reducer;

/** y and indices (either may be NULL) from x over the dimensions in `mask`, off the tape. Cannot
 * fail. */
void adzi_reduce(
    adzi_reducer reducer, adz_tensor *y, adz_tensor *indices, const adz_tensor *x, unsigned mask);

/** Elements per result. */
int64_t adzi_reduced_count(adz_shape shape, unsigned mask);

/** `shape` with size 1 for the dimensions in `mask`. */
adz_shape adzi_kept_shape(adz_shape shape, unsigned mask);

/** Fails when a reduction that has no value for no elements would meet that. */
bool adzi_want_elements(const char *op, const adz_tensor *x, unsigned mask);

#endif
