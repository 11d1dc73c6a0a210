/* The windows of one dimension as tables, which kernels read. */
#ifndef ADZI_OPS_POOL_TAPS_H
#define ADZI_OPS_POOL_TAPS_H

#include "ops/pool/windows.h"

/** What a kernel needs to know of one dimension. The tables belong to tensors of the scope. */
typedef struct adzi_taps {
    const adzi_window *windows; /* [n]: what each result sees; NULL for one position that stays */
    const double *weights;      /* [n, most], or NULL if there are none */
    int64_t n, in, most; /* results, positions of the input, and the most positions of a window */
    int64_t dilation;
    int64_t step, width; /* window j begins at j step and has `width` positions of one weight; step
                            0: the windows differ */
} adzi_taps;

/** What result j sees, for dimensions that may have no table. */
static inline adzi_window adzi_taps_window(const adzi_taps *t, int64_t j)
{
    return t->windows != NULL ? t->windows[j] : (adzi_window){ 0, 1 };
}

/** Its pointers for ADZI_ADDRESSES. `at` is the name of a member and a dot. */
#define ADZI_TAPS_ADDRESSES(at) at windows, at weights

/**
 * Makes the table of an axis. With `transposed`, the table is that of the gradient: position i of x
 * gets something from each window that sees it. The dilation must be 1 then. Records the error and
 * returns false if memory was refused.
 */
bool adzi_taps_of(
    const char *op, const adzi_axis *axis, bool weighted, bool transposed, adzi_taps *taps);

/** adzi_taps_of, which makes no table of an axis in front of those that windows cover. */
bool adzi_taps_of_depth(
    const char *op, const adzi_axis *axis, bool weighted, bool transposed, adzi_taps *taps);

/** The weights of an axis as a dense matrix [out, in] of a dtype, for expressions: a mean or an
 * interpolation along one dimension is a product with it. NULL if memory was refused. */
adz_tensor *adzi_axis_matrix(const char *op, const adzi_axis *axis, adz_dtype dtype);

#endif
