#include "ops/op.h"

/* Channels of the groups in turns, torch.nn.functional.channel_shuffle. A composition: x[N, g n,
 * ...] is seen as [N, g, n, ...], becomes [N, n, g, ...] and is copied. */
adz_tensor *adz_channel_shuffle(adz_tensor *x, int64_t groups)
{
    ADZI_COMPOSED();
    static const char op[] = "channel_shuffle";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (groups < 1) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "groups is %lld, but must be 1 or more", (long long)groups);
    }
    if (x->rank < 3 || x->sizes[1] % groups != 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "x%s must be [N, C, ...] with three dimensions or more, and groups %lld must divide C",
            adzi_text_shape(x), (long long)groups);
    }
    const adz_shape shape = adz_shape_of(x->rank, x->sizes);
    int64_t rest = 1;
    for (int d = 2; d < x->rank; ++d) {
        rest *= x->sizes[d];
    }
    adz_tensor *apart = adz_reshape(x, ADZ_SHAPE(x->sizes[0], groups, x->sizes[1] / groups, rest));
    return adz_reshape(adz_transpose(apart, 1, 2), shape);
}
