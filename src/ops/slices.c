#include "ops/slices.h"

/* How a tensor is cut into slices, for the operators that work along one dimension.
 *
 * A contiguous tensor and a dimension `dim` are seen as [outer, n, inner]: the dimensions before
 * dim, dim itself, and those after it. x[2, 3, 4] along dimension 1 has outer 2, n 3 and inner 4:
 * 8 slices of 3 elements, the elements of a slice being 4 apart. */

/* A scalar, or a tensor with an empty dimension, needs no case of its own: products over no
 * dimensions are 1. */
int64_t adzi_slices(adzi_slices_args *args, const adz_tensor *x, int dim)
{
    int64_t outer = 1;
    args->n = args->inner = 1;
    for (int i = 0; i < x->rank; ++i) {
        if (i < dim) {
            outer *= x->sizes[i];
        } else if (i == dim) {
            args->n = x->sizes[i];
        } else {
            args->inner *= x->sizes[i];
        }
    }
    return outer * args->inner;
}

/* About 8192 elements are worth a thread, and always one slice at least. At a nanosecond each,
 * about the cost of an exponential, they take the ten microseconds that base/threads/parallel.h
 * asks for.
 */
int64_t adzi_slices_grain(int64_t n)
{
    return adzi_grain_of(8192, n);
}
