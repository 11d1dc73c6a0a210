/* The largest element of each window: the common part of max_pool and adaptive_max_pool. */
#ifndef ADZI_OPS_POOL_MAX_WINDOWS_H
#define ADZI_OPS_POOL_MAX_WINDOWS_H

#include "base/threads/addresses.h"
#include "ops/pool/taps.h"

/** Numbers of elements in a window are bytes if no window has more elements than this. */
enum { ADZI_NARROW_NUMBERS = 256 };

/** Arguments of the kernels. x is [P, D, H, W], y is [P, slices.n, rows.n, columns.n]. Units of
 * max_windows and max_windows_indices are rows of y, those of max_windows_dx are volumes. */
typedef struct adzi_max_windows_args {
    const void *x;
    void *y;       /* the result of max_windows */
    void *numbers; /* which element of its window is the largest, u8 or i64, shaped like y. Written
                      by max_windows, unless it is NULL; read by the others */
    int64_t *indices; /* the result of max_windows_indices: index (d H + h) W + w in the volume of
                         x */
    const void *dy;
    void *dx;
    adzi_taps slices, rows, columns;
    bool numbers_wide; /* the numbers are i64 */
} adzi_max_windows_args;

ADZI_ADDRESSES(adzi_max_windows_args, x, y, numbers, indices, dy, dx, ADZI_TAPS_ADDRESSES(slices.),
    ADZI_TAPS_ADDRESSES(rows.), ADZI_TAPS_ADDRESSES(columns.));

/** The most elements of a window. */
static inline int64_t adzi_max_windows_most(const adzi_max_windows_args *a)
{
    return a->slices.most * a->rows.most * a->columns.most;
}

/** The elements of a volume of x. */
static inline int64_t adzi_max_windows_volume(const adzi_max_windows_args *a)
{
    return a->slices.in * a->rows.in * a->columns.in;
}

/** One call. */
typedef struct adzi_max_windows_call {
    adzi_windows w;
    bool wants_indices;
    adz_tensor *found; /* the indices, or NULL */
    adzi_max_windows_args args;
} adzi_max_windows_call;

/** Calls an operator whose attributes have been read. `indices` receives the indices, or is NULL.
 */
adz_tensor *adzi_max_windows(
    const adzi_op *op, adz_tensor *x, adzi_max_windows_call *call, adz_tensor **indices);

/** The gradient as an expression: dy is added at the indices of the largest elements. */
adz_status adzi_max_windows_backward(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, int n, const adzi_axis *axes);

/** The gradient in one launch. */
adz_status adzi_max_windows_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, const adzi_axis *axes);

#endif
