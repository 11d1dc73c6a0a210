#include "ops/shape/pixels.h"

/* Channels become rows and columns, torch.nn.functional.pixel_shuffle. A composition: x[..., C r r,
 * H, W] is seen as [..., C, r, r, H, W], becomes [..., C, H, r, W, r] and is copied. */
adz_tensor *adz_pixel_shuffle(adz_tensor *x, int64_t upscale_factor)
{
    ADZI_COMPOSED();
    static const char op[] = "pixel_shuffle";
    const int64_t r = upscale_factor;
    if (!adzi_check_pixels(op, "upscale_factor", x, r)) {
        return NULL;
    }
    const int n = x->rank - 3;
    const int64_t *s = x->sizes + n;
    if (s[0] % (r * r) != 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "the %lld channels of x%s are no multiple of upscale_factor %lld squared",
            (long long)s[0], adzi_text_shape(x), (long long)r);
    }
    adz_shape apart = { .rank = x->rank + 2 }, whole = { .rank = x->rank };
    adz_dims order = { .count = x->rank + 2 };
    for (int d = 0; d < n; ++d) {
        apart.sizes[d] = whole.sizes[d] = x->sizes[d];
        order.dims[d] = d;
    }
    const int64_t parts[] = { s[0] / (r * r), r, r, s[1], s[2] };
    static const int positions[] = { 0, 3, 1, 4, 2 };
    for (int i = 0; i < 5; ++i) {
        apart.sizes[n + i] = parts[i];
        order.dims[n + i] = n + positions[i];
    }
    whole.sizes[n] = parts[0];
    whole.sizes[n + 1] = s[1] * r;
    whole.sizes[n + 2] = s[2] * r;
    return adz_reshape(adz_permute(adz_reshape(x, apart), order), whole);
}
