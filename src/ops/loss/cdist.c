#include <math.h>

#include "ops/op.h"

/* Distances between all pairs of rows, torch.cdist: the norms of their differences. A composition,
 * in which a product of matrices would lose the digits of small distances.
 *
 * The difference of two equal infinities is NaN, and so is the distance. As in PyTorch, the largest
 * difference is an exception, for which equal infinities are equal. NaN elements always give NaN;
 * PyTorch passes over them when it looks for the largest difference. The number of differences is
 * NaN where a difference is, because NaN is neither equal nor different. */

static adz_tensor *equal_positions(adz_tensor *a, adz_tensor *b)
{
    return adz_eq(adz_unsqueeze(a, -2), adz_unsqueeze(b, -3));
}

/* The distances between all rows of a and of b, torch.cdist. */
adz_tensor *adz_cdist(adz_tensor *a, adz_tensor *b, double p)
{
    ADZI_COMPOSED();
    static const char op[] = "cdist";
    if (!adzi_check_tensor(op, "a", a) || !adzi_check_tensor(op, "b", b)) {
        return NULL;
    }
    if (a->rank < 2 || b->rank < 2 || a->rank == ADZ_MAX_RANK || b->rank == ADZ_MAX_RANK ||
        a->sizes[a->rank - 1] != b->sizes[b->rank - 1]) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "a%s and b%s must be [..., N, D] and [..., M, D] with 2 to %d dimensions",
            adzi_text_shape(a), adzi_text_shape(b), ADZ_MAX_RANK - 1);
    }
    if (!(p >= 0)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "p is %s, but a distance needs 0 or more", adzi_text_number(p));
    }
    adz_tensor *difference = adz_sub(adz_unsqueeze(a, -2), adz_unsqueeze(b, -3));
    if (difference == NULL) {
        return NULL;
    }
    /* Rows without elements are equal. The largest of no elements would be an error. */
    const double norm = a->sizes[a->rank - 1] == 0 ? 1 : p;
    if (isinf(norm)) {
        difference = adz_masked_fill(difference, equal_positions(a, b), 0);
    }
    /* The number of differences is the sum of the sizes of their signs, which have the gradient 0.
     */
    adz_tensor *y = norm == 0 ? adz_norm(adz_sign(difference), 1, ADZ_DIMS(-1), ADZ_DROPDIM)
                              : adz_norm(difference, norm, ADZ_DIMS(-1), ADZ_DROPDIM);
    if (norm == 0) {
        y = adz_masked_fill(y, adz_any(adz_isnan(difference), ADZ_DIMS(-1), ADZ_DROPDIM), NAN);
    }
    return y;
}
