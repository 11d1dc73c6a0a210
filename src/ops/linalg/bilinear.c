#include "ops/op.h"

/* A bilinear form for each output, torch.nn.functional.bilinear.
 *
 *     y[..., o] = sum_ij x1[..., i] weight[o, i, j] x2[..., j] + bias[o]
 *
 * A composition: one product of the outer products [..., I J] with the weight as a matrix
 * [O, I J]. The weight is read where it is, without a transposed copy. */

static const char name[] = "bilinear";

/* True if the leading sizes of both agree and their last sizes are those of the weight. */
static bool fits(const adz_tensor *x1, const adz_tensor *x2, const adz_tensor *weight)
{
    const int last = x1->rank - 1;
    return weight->rank == 3 && last >= 0 && x2->rank == x1->rank && last < ADZ_MAX_RANK - 1 &&
           memcmp(x1->sizes, x2->sizes, (size_t)last * sizeof *x1->sizes) == 0 &&
           x1->sizes[last] == weight->sizes[1] && x2->sizes[last] == weight->sizes[2];
}

/* torch.nn.functional.bilinear; bias may be ADZ_NONE. */
adz_tensor *adz_bilinear(adz_tensor *x1, adz_tensor *x2, adz_tensor *weight, adz_tensor *bias)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor(name, "x1", x1) || !adzi_check_tensor(name, "x2", x2) ||
        !adzi_check_tensor(name, "weight", weight)) {
        return NULL;
    }
    if (!fits(x1, x2, weight)) {
        return adzi_fail(name, ADZ_ERR_SHAPE,
            "x1%s, x2%s and weight%s must be [..., I], [..., J] and [O, I, J], with at most %d dimensions",
            adzi_text_shape(x1), adzi_text_shape(x2), adzi_text_shape(weight), ADZ_MAX_RANK - 1);
    }
    adz_shape flat = adz_tensor_shape(x1);
    flat.sizes[flat.rank - 1] = weight->sizes[1] * weight->sizes[2];
    adz_tensor *pairs = adz_mul(adz_unsqueeze(x1, -1), adz_unsqueeze(x2, -2));
    adz_tensor *matrix =
        adz_reshape(weight, ADZ_SHAPE(weight->sizes[0], weight->sizes[1] * weight->sizes[2]));
    return adz_linear(adz_reshape(pairs, flat), matrix, bias);
}
