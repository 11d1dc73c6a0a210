#include "ops/op.h"

/* The Kronecker product, torch.kron.
 *
 *     y[i p + k] = a[i] b[k] in each dimension, where b has p elements
 *
 * A composition: each dimension of a gets one of size 1 behind it, and each of b one before it. */
adz_tensor *adz_kron(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    static const char op[] = "kron";
    if (!adzi_check_tensor(op, "a", a) || !adzi_check_tensor(op, "b", b)) {
        return NULL;
    }
    const int rank = a->rank > b->rank ? a->rank : b->rank;
    if (2 * rank > ADZ_MAX_RANK) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "a%s and b%s must have at most %d dimensions",
            adzi_text_shape(a), adzi_text_shape(b), ADZ_MAX_RANK / 2);
    }
    adz_shape first = { .rank = 2 * rank }, second = first, result = { .rank = rank };
    for (int i = 0; i < rank; ++i) {
        const int at_a = i - (rank - a->rank), at_b = i - (rank - b->rank);
        const int64_t m = at_a < 0 ? 1 : a->sizes[at_a], p = at_b < 0 ? 1 : b->sizes[at_b];
        first.sizes[2 * i] = m;
        second.sizes[2 * i + 1] = p;
        first.sizes[2 * i + 1] = second.sizes[2 * i] = 1;
        result.sizes[i] = m * p;
    }
    return adz_reshape(adz_mul(adz_reshape(a, first), adz_reshape(b, second)), result);
}
