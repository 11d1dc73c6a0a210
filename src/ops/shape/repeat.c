#include "ops/op.h"

/* Repeats a whole tensor along dimensions, torch.Tensor.repeat.
 *
 *     y[i] = x[i mod S]           (along each dimension of size S)
 *     dx   = dy summed over the repeats
 *
 * x has any shape; repeats may have more entries than x has dimensions, which adds dimensions in
 * front. It is a composition of reshape and expand, whose nodes sum the gradient. */

/* Repeats x along dimension d. x[outer, n] becomes x[outer, 1, n], is expanded to [outer, times, n]
 * and copied by the reshape. Dimensions are processed from last to first, so no intermediate tensor
 * has more than three dimensions, and copies move long runs. */
static adz_tensor *along(adz_tensor *x, int d, int64_t times)
{
    adz_shape shape = adz_shape_of(x->rank, x->sizes);
    int64_t outer = adzi_numel(d, x->sizes), n = adzi_numel(x->rank - d, x->sizes + d);
    shape.sizes[d] *= times;
    adz_tensor *apart = adz_reshape(x, ADZ_SHAPE(outer, 1, n));
    return adz_reshape(adz_expand(apart, ADZ_SHAPE(outer, times, n)), shape);
}

/* All sizes are checked before the first copy, so that a call that fails has done nothing. */
adz_tensor *adz_repeat(adz_tensor *x, adz_shape repeats)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("repeat", "x", x)) {
        return NULL;
    }
    bool fits = repeats.rank >= x->rank && repeats.rank <= ADZ_MAX_RANK;
    adz_shape shape = repeats; /* becomes the shape of x with new dimensions of size 1 in front */
    for (int d = 0; d < repeats.rank && fits; ++d) {
        int from = d - (repeats.rank - x->rank);
        shape.sizes[d] = from < 0 ? 1 : x->sizes[from];
        fits = repeats.sizes[d] >= 0;
    }
    if (!fits) {
        return adzi_fail("repeat", ADZ_ERR_SHAPE,
            "repeats %s do not fit x%s: one number, 0 or more, for each dimension and for new ones in front",
            repeats.rank < 0 ? "(more than 8)" : adzi_text_sizes(repeats.rank, repeats.sizes),
            adzi_text_shape(x));
    }
    adz_shape whole = shape;
    int64_t numel;
    for (int d = 0; d < shape.rank; ++d) {
        if (!adzi_multiply(shape.sizes[d], repeats.sizes[d], &whole.sizes[d])) {
            return adzi_fail("repeat", ADZ_ERR_SHAPE, "x%s repeated %s has more elements than fit",
                adzi_text_shape(x), adzi_text_sizes(repeats.rank, repeats.sizes));
        }
    }
    if (adzi_check_sizes("repeat", whole.rank, whole.sizes, (adz_dtype)x->dtype, &numel) !=
        ADZ_OK) {
        return NULL;
    }
    adz_tensor *y = adz_reshape(x, shape);
    for (int d = shape.rank - 1; d >= 0 && y != NULL; --d) {
        if (repeats.sizes[d] != 1) {
            y = along(y, d, repeats.sizes[d]);
        }
    }
    /* The result is memory of its own. A view with stride 0 would let a write reach all repeats,
     * and a view of x would let it reach x. */
    bool fresh = y == NULL || (adzi_is_contiguous(y) && y->storage != x->storage);
    return fresh ? y : adz_clone(y);
}
