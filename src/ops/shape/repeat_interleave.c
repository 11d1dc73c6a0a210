#include "ops/op.h"

/* Repeats each element along a dimension, torch.repeat_interleave: y_i = x_(i / repeats). It is a
 * composition: x is expanded along a new dimension behind dim, and both become one. The gradient
 * sums the repeats. */
adz_tensor *adz_repeat_interleave(adz_tensor *x, int64_t repeats, int dim)
{
    ADZI_COMPOSED();
    static const char op[] = "repeat_interleave";
    int64_t numel;
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (x->rank == 0 || x->rank == ADZ_MAX_RANK) {
        return adzi_fail(op, ADZ_ERR_DIM, "x%s must have 1 to %d dimensions", adzi_text_shape(x),
            ADZ_MAX_RANK - 1);
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    adz_shape apart = adz_shape_of(x->rank, x->sizes), whole = apart;
    if (repeats < 0 || !adzi_multiply(whole.sizes[d], repeats, &whole.sizes[d])) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "repeats is %lld, but must be 0 or more, and so few that dimension %d of x%s does not overflow",
            (long long)repeats, d, adzi_text_shape(x));
    }
    if (adzi_check_sizes(op, whole.rank, whole.sizes, (adz_dtype)x->dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    for (int i = apart.rank++; i > d + 1; --i) {
        apart.sizes[i] = apart.sizes[i - 1];
    }
    apart.sizes[d + 1] = repeats;
    adz_tensor *y = adz_reshape(adz_expand(adz_unsqueeze(x, d + 1), apart), whole);
    /* One repeat, or none, is a view of x. The result is memory of its own. */
    const bool fresh = y == NULL || (adzi_is_contiguous(y) && y->storage != x->storage);
    return fresh ? y : adz_clone(y);
}
