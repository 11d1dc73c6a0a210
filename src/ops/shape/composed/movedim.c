#include "ops/op.h"

/* Moves dimensions, torch.movedim: a permutation. A composition. Dimensions that are not named keep
 * their order and fill the positions that are left. */
adz_tensor *adz_movedim(adz_tensor *x, adz_dims source, adz_dims destination)
{
    ADZI_COMPOSED();
    static const char op[] = "movedim";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (source.count < 0 || source.count > x->rank || source.count != destination.count) {
        return adzi_fail(op, ADZ_ERR_DIM,
            "source names %d dimensions and destination %d; both must name as many, and at most those of x%s",
            source.count, destination.count, adzi_text_shape(x));
    }
    int from[ADZ_MAX_RANK]; /* the dimension of x at each position, or -1 */
    bool moved[ADZ_MAX_RANK] = { false };
    memset(from, -1, sizeof from);
    for (int i = 0; i < source.count; ++i) {
        const int a = adzi_dim(op, x, source.dims[i]), b = adzi_dim(op, x, destination.dims[i]);
        if (a < 0 || b < 0) {
            return NULL;
        }
        if (moved[a] || from[b] >= 0) {
            return adzi_fail(op, ADZ_ERR_DIM, "dimension %d is named twice in %s", moved[a] ? a : b,
                moved[a] ? "source" : "destination");
        }
        moved[a] = true;
        from[b] = a;
    }
    /* `next` is the first dimension of x that is not named and has no position yet. */
    adz_dims order = { .count = x->rank };
    for (int d = 0, next = 0; d < x->rank; ++d) {
        while (from[d] < 0 && moved[next]) {
            ++next;
        }
        order.dims[d] = from[d] >= 0 ? from[d] : next++;
    }
    return adz_permute(x, order);
}
