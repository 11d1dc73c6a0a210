#include "ops/op.h"

/* Pads with elements of the tensor itself, torch.nn.functional.pad with the modes "reflect",
 * "replicate" and "circular". A composition: along each dimension, pieces of x are joined.
 *
 *     reflect     y[-i] = x[i]
 *     replicate   y[-i] = x[0]
 *     circular    y[-i] = x[size - i]      and likewise behind the end */

static const char name[] = "pad_mode";

static const char *const modes[] = { "zeros", "reflect", "replicate", "circular" };

/* The `count` elements that come before x (side 0) or after it (side 1) along a dimension. */
static adz_tensor *piece(adz_tensor *x, int dim, int side, int64_t count, adz_padding_mode mode)
{
    const int64_t size = x->sizes[dim];
    if (mode == ADZ_PADDING_REFLECT) {
        return adz_flip(adz_narrow(x, dim, side == 0 ? 1 : size - 1 - count, count), ADZ_DIMS(dim));
    }
    if (mode == ADZ_PADDING_CIRCULAR) {
        return adz_narrow(x, dim, side == 0 ? size - count : 0, count);
    }
    adz_shape shape = adz_shape_of(x->rank, x->sizes);
    shape.sizes[dim] = count;
    return adz_expand(adz_narrow(x, dim, side == 0 ? 0 : size - 1, 1), shape);
}

/* Refuses what a dimension cannot give. */
static bool check(const adz_tensor *x, int dim, const int64_t *pads, adz_padding_mode mode)
{
    const int64_t size = x->sizes[dim];
    const int64_t most = mode == ADZ_PADDING_REFLECT    ? size - 1
                         : mode == ADZ_PADDING_CIRCULAR ? size
                         : size > 0                     ? INT64_MAX / 4
                                                        : 0;
    for (int side = 0; side < 2; ++side) {
        if (pads[side] < 0 || pads[side] > (most > 0 ? most : 0)) {
            adzi_error(name, ADZ_ERR_ARGUMENT,
                "%lld elements cannot be added to dimension %d of x%s by %s: 0 to %lld can",
                (long long)pads[side], dim, adzi_text_shape(x), modes[mode],
                (long long)(most > 0 ? most : 0));
            return false;
        }
    }
    return true;
}

static adz_tensor *pad_dim(adz_tensor *x, int dim, const int64_t *pads, adz_padding_mode mode)
{
    adz_tensor *parts[3];
    size_t n = 0;
    if (pads[0] > 0) {
        parts[n++] = piece(x, dim, 0, pads[0], mode);
    }
    parts[n++] = x;
    if (pads[1] > 0) {
        parts[n++] = piece(x, dim, 1, pads[1], mode);
    }
    return n == 1 ? x : adz_cat(parts, n, dim);
}

/* torch.nn.functional.pad with a mode: pads are pairs, from the last dimension on. */
adz_tensor *adz_pad_mode(adz_tensor *x, const int64_t *pads, size_t n, adz_padding_mode mode)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor(name, "x", x)) {
        return NULL;
    }
    if ((unsigned)mode > ADZ_PADDING_CIRCULAR) {
        return adzi_fail(name, ADZ_ERR_ARGUMENT, "mode %d is no adz_padding_mode", (int)mode);
    }
    if (mode == ADZ_PADDING_ZEROS) {
        return adz_pad(x, pads, n, 0);
    }
    if (n % 2 != 0 || n > 2 * (size_t)x->rank || (n > 0 && pads == NULL)) {
        return adzi_fail(name, ADZ_ERR_ARGUMENT,
            "%zu numbers do not pad x%s: they come in pairs, one for each dimension from the last",
            n, adzi_text_shape(x));
    }
    for (size_t i = 0; i < n; i += 2) {
        if (!check(x, x->rank - 1 - (int)(i / 2), pads + i, mode)) {
            return NULL;
        }
    }
    adz_tensor *y = x;
    for (size_t i = 0; i < n && y != NULL; i += 2) {
        y = pad_dim(y, x->rank - 1 - (int)(i / 2), pads + i, mode);
    }
    return y == x ? adz_clone(x) : y;
}
