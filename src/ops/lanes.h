/* Launches of kernels that work along one dimension: softmax, cumsum, maxima with their indices. */
#ifndef ADZI_OPS_LANES_H
#define ADZI_OPS_LANES_H

#include "base/isa.h"
#include "base/threads/parallel.h"
#include "tensor/tensor.h"

enum { ADZI_LANES_INPUTS = 3 };

/**
 * Contiguous operands seen as [outer, n, inner]. A lane is the n elements that share outer and
 * inner index; lanes are numbered as a contiguous [outer, inner] is, and are a kernel's units.
 */
typedef struct adzi_lanes_args {
    const char *in[ADZI_LANES_INPUTS];
    char *out;
    char *indices;    /* a second result, the indices of the first's elements, i64; or NULL */
    int64_t n, inner; /* elements of a lane; distance between two of them, in elements */
    bool reverse;     /* scans run from a lane's last element to its first */
} adzi_lanes_args;

/** Its pointers for ADZI_ADDRESSES. `at` is empty, or the name of a member and a dot. */
#define ADZI_LANES_ADDRESSES(at) at in, at out, at indices

ADZI_ADDRESSES(adzi_lanes_args, ADZI_LANES_ADDRESSES());

/** Sets n and inner for the lanes of `x` along `dim`; returns how many there are. */
int64_t adzi_lanes(adzi_lanes_args *args, const adz_tensor *x, int dim);

/** The grain of a launch over lanes of n elements: how many lanes are worth a thread. */
int64_t adzi_lanes_grain(int64_t n);

/**
 * Launches a kernel over the lanes of in[0] along `dim`. All operands are contiguous. The lanes are
 * those of in[0]; other operands have its shape, or one element per lane if the kernel says so.
 * Does nothing where in[0] has no elements.
 */
static inline void adzi_lanes_run(
    adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in, int dim)
{
    adzi_lanes_args args = { .out = y->data };
    for (int i = 0; i < n_in; ++i) {
        args.in[i] = in[i]->data;
    }
    int64_t lanes = adzi_lanes(&args, in[0], dim);
    if (in[0]->numel > 0) {
        adzi_launch(kernel, adzi_lanes_args, &args, lanes, adzi_lanes_grain(args.n));
    }
}

#endif
