#include "ops/op.h"

/* The cross product of vectors of three elements, torch.linalg.cross.
 *
 *     y_0 = a_1 b_2 - a_2 b_1, and so on in turn
 *
 * A composition: a and b are rolled by one and by two elements. */
adz_tensor *adz_cross(adz_tensor *a, adz_tensor *b, int dim)
{
    ADZI_COMPOSED();
    static const char op[] = "cross";
    if (!adzi_check_tensor(op, "a", a) || !adzi_check_tensor(op, "b", b)) {
        return NULL;
    }
    if (a->rank == 0 || a->rank != b->rank) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "a%s and b%s must have the same number of dimensions, 1 or more", adzi_text_shape(a),
            adzi_text_shape(b));
    }
    const int d = adzi_dim(op, a, dim);
    if (d < 0) {
        return NULL;
    }
    if (a->sizes[d] != 3 || b->sizes[d] != 3) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "dimension %d of a%s and b%s must have 3 elements", d,
            adzi_text_shape(a), adzi_text_shape(b));
    }
    adz_tensor *first = adz_mul(adz_roll(a, -1, d), adz_roll(b, -2, d));
    return adz_sub(first, adz_mul(adz_roll(a, -2, d), adz_roll(b, -1, d)));
}
