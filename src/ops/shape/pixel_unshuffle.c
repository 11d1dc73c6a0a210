#include "ops/shape/pixels.h"

/* Rows and columns become channels, torch.nn.functional.pixel_unshuffle. A composition: x[..., C, H
 * r, W r] is seen as [..., C, H, r, W, r], becomes [..., C, r, r, H, W] and is copied. */
adz_tensor *adz_pixel_unshuffle(adz_tensor *x, int64_t downscale_factor)
{
    ADZI_COMPOSED();
    static const char op[] = "pixel_unshuffle";
    const int64_t r = downscale_factor;
    if (!adzi_check_pixels(op, "downscale_factor", x, r)) {
        return NULL;
    }
    const int n = x->rank - 3;
    const int64_t *s = x->sizes + n;
    if (s[1] % r != 0 || s[2] % r != 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "%lld rows and %lld columns of x%s are no multiples of downscale_factor %lld",
            (long long)s[1], (long long)s[2], adzi_text_shape(x), (long long)r);
    }
    adz_shape apart = { .rank = x->rank + 2 }, whole = { .rank = x->rank };
    adz_dims order = { .count = x->rank + 2 };
    for (int d = 0; d < n; ++d) {
        apart.sizes[d] = whole.sizes[d] = x->sizes[d];
        order.dims[d] = d;
    }
    const int64_t parts[] = { s[0], s[1] / r, r, s[2] / r, r };
    static const int positions[] = { 0, 2, 4, 1, 3 };
    for (int i = 0; i < 5; ++i) {
        apart.sizes[n + i] = parts[i];
        order.dims[n + i] = n + positions[i];
    }
    /* Where x is empty, the channels may be more than fit. */
    if (!adzi_multiply(s[0], r * r, &whole.sizes[n])) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x%s would have too many channels with factor %lld",
            adzi_text_shape(x), (long long)r);
    }
    whole.sizes[n + 1] = s[1] / r;
    whole.sizes[n + 2] = s[2] / r;
    return adz_reshape(adz_permute(adz_reshape(x, apart), order), whole);
}
