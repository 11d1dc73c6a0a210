#include "ops/op.h"

/* The cosine of the angle between vectors, torch.nn.functional.cosine_similarity. A composition:
 * the product of both vectors, divided by their norms. */
adz_tensor *adz_cosine_similarity(adz_tensor *a, adz_tensor *b, int dim, double eps)
{
    ADZI_COMPOSED();
    static const char op[] = "cosine_similarity";
    adz_shape shape = { .rank = 0 };
    if (!adzi_check_tensor(op, "a", a) || !adzi_check_tensor(op, "b", b) ||
        !adzi_broadcast(op, &shape.rank, shape.sizes, a, b)) {
        return NULL;
    }
    if (dim < -shape.rank || dim >= shape.rank) {
        return adzi_fail(op, ADZ_ERR_DIM, "dimension %d is not one of the broadcast shape %s", dim,
            adzi_text_sizes(shape.rank, shape.sizes));
    }
    if (!(eps >= 0)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "eps is %s, but must be 0 or more", adzi_text_number(eps));
    }
    /* Counted from the last dimension, dim is the same one after the operands are expanded. */
    const int d = dim < 0 ? dim : dim - shape.rank;
    adz_tensor *x = adz_normalize(adz_expand(a, shape), 2, d, eps);
    adz_tensor *y = x != NULL ? adz_normalize(adz_expand(b, shape), 2, d, eps) : NULL;
    return adz_sum(adz_mul(x, y), ADZ_DIMS(d), ADZ_DROPDIM);
}
