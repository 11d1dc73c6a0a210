#include "ops/loss/check_loss.h"

/* The distance between vectors, torch.nn.functional.pairwise_distance. A composition:
 * |a - b + eps|_p over the last dimension. */
adz_tensor *adz_pairwise_distance(adz_tensor *a, adz_tensor *b, double p, double eps, bool keepdim)
{
    ADZI_COMPOSED();
    static const char op[] = "pairwise_distance";
    adz_shape shape = { .rank = 0 };
    if (!adzi_check_loss_input(op, "a", a) || !adzi_check_loss_input(op, "b", b) ||
        !adzi_broadcast(op, &shape.rank, shape.sizes, a, b)) {
        return NULL;
    }
    if (shape.rank == 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "a and b are scalars, but must be vectors [..., D]");
    }
    if (!isfinite(eps)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "eps is %s, but must be finite", adzi_text_number(eps));
    }
    return adz_norm(adz_add_number(adz_sub(a, b), eps), p, ADZ_DIMS(-1), keepdim);
}
