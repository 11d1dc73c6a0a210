#include "ops/op.h"

/* Sums over pairs of dimensions, torch.tensordot.
 *
 * A composition: the dimensions that are summed go to the end of a and to the front of b, and the
 * product of two matrices does the rest. */

/* The dimensions of t that `summed` does not name, in order; then or before them those that it
 * names. */
static bool order_of(
    const char *op, const adz_tensor *t, adz_dims summed, bool behind, adz_dims *order)
{
    bool named[ADZ_MAX_RANK] = { false };
    int found[ADZ_MAX_RANK];
    for (int i = 0; i < summed.count; ++i) {
        found[i] = adzi_dim(op, t, summed.dims[i]);
        if (found[i] < 0) {
            return false;
        }
        if (t->rank == 0 || named[found[i]]) {
            adzi_error(
                op, ADZ_ERR_DIM, "dimension %d of %s is named twice", found[i], adzi_text_shape(t));
            return false;
        }
        named[found[i]] = true;
    }
    order->count = 0;
    for (int i = 0; i < summed.count && !behind; ++i) {
        order->dims[order->count++] = found[i];
    }
    for (int i = 0; i < t->rank; ++i) {
        if (!named[i]) {
            order->dims[order->count++] = i;
        }
    }
    for (int i = 0; i < summed.count && behind; ++i) {
        order->dims[order->count++] = found[i];
    }
    return true;
}

adz_tensor *adz_tensordot(adz_tensor *a, adz_tensor *b, adz_dims a_dims, adz_dims b_dims)
{
    ADZI_COMPOSED();
    static const char op[] = "tensordot";
    adz_dims order[2];
    if (!adzi_check_tensor(op, "a", a) || !adzi_check_tensor(op, "b", b)) {
        return NULL;
    }
    const int n = a_dims.count;
    if (n < 0 || n != b_dims.count || n > a->rank || n > b->rank) {
        return adzi_fail(op, ADZ_ERR_DIM,
            "a_dims has %d dimensions and b_dims %d, but both name as many, of a%s and b%s", n,
            b_dims.count, adzi_text_shape(a), adzi_text_shape(b));
    }
    if (!order_of(op, a, a_dims, true, &order[0]) || !order_of(op, b, b_dims, false, &order[1])) {
        return NULL;
    }
    adz_shape result = { .rank = a->rank + b->rank - 2 * n };
    if (result.rank > ADZ_MAX_RANK) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "the result of a%s and b%s would have %d dimensions, more than %d", adzi_text_shape(a),
            adzi_text_shape(b), result.rank, ADZ_MAX_RANK);
    }
    int64_t rows = 1, inner = 1, columns = 1;
    int at = 0;
    for (int i = 0; i < a->rank - n; ++i) {
        rows *= result.sizes[at++] = a->sizes[order[0].dims[i]];
    }
    for (int i = 0; i < n; ++i) {
        const int64_t size = a->sizes[order[0].dims[a->rank - n + i]];
        if (size != b->sizes[order[1].dims[i]]) {
            return adzi_fail(op, ADZ_ERR_SHAPE,
                "pair %d of dimensions of a%s and b%s has sizes %lld and %lld", i,
                adzi_text_shape(a), adzi_text_shape(b), (long long)size,
                (long long)b->sizes[order[1].dims[i]]);
        }
        inner *= size;
    }
    for (int i = n; i < b->rank; ++i) {
        columns *= result.sizes[at++] = b->sizes[order[1].dims[i]];
    }
    if (n == 0) { /* products alone, which need no sums */
        adz_tensor *column = adz_reshape(a, ADZ_SHAPE(rows, 1));
        return adz_reshape(adz_mul(column, adz_reshape(b, ADZ_SHAPE(1, columns))), result);
    }
    adz_tensor *left = adz_reshape(adz_permute(a, order[0]), ADZ_SHAPE(rows, inner));
    adz_tensor *right = adz_reshape(adz_permute(b, order[1]), ADZ_SHAPE(inner, columns));
    return adz_reshape(adz_matmul(left, right), result);
}
