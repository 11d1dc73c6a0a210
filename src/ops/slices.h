/* Launches of kernels that work along one dimension: softmax, cumsum, maxima with their indices. */
#ifndef ADZI_OPS_SLICES_H
#define ADZI_OPS_SLICES_H

#include "base/isa.h"
#include "base/threads/parallel.h"
#include "tensor/tensor.h"

enum { ADZI_SLICES_INPUTS = 3 };

/**
 * Contiguous operands seen as [outer, n, inner]. A slice is the n elements that share outer and
 * inner index; slices are numbered as a contiguous [outer, inner] is, and are a kernel's units.
 */
typedef struct adzi_slices_args {
    const char *in[ADZI_SLICES_INPUTS];
    char *out;
    char *indices;    /* a second result, the indices of the first's elements, i64; or NULL */
    int64_t n, inner; /* elements of a slice; distance between two of them, in elements */
    bool reverse;     /* scans run from a slice's last element to its first */
} adzi_slices_args;

/** Its pointers for ADZI_ADDRESSES. `at` is empty, or the name of a member and a dot. */
#define ADZI_SLICES_ADDRESSES(at) at in, at out, at indices

ADZI_ADDRESSES(adzi_slices_args, ADZI_SLICES_ADDRESSES());

/** Sets n and inner for the slices of `x` along `dim`; returns how many there are. */
int64_t adzi_slices(adzi_slices_args *args, const adz_tensor *x, int dim);

/** The grain of a launch over slices of n elements: how many slices are worth a thread. */
int64_t adzi_slices_grain(int64_t n);

/**
 * Launches a kernel over the slices of in[0] along `dim`. All operands are contiguous. The slices
 * are those of in[0]; other operands have its shape, or one element per slice if the kernel says
 * so. Does nothing where in[0] has no elements.
 */
static inline void adzi_slices_run(
    adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in, int dim)
{
    adzi_slices_args args = { .out = y->data };
    for (int i = 0; i < n_in; ++i) {
        args.in[i] = in[i]->data;
    }
    int64_t slices = adzi_slices(&args, in[0], dim);
    if (in[0]->numel > 0) {
        adzi_launch(kernel, adzi_slices_args, &args, slices, adzi_slices_grain(args.n));
    }
}

#endif
