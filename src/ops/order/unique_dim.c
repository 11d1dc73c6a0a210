#include "ops/order/unique.h"
#include "ops/order/unique.kernel.h"

/* The distinct subtensors along a dimension in ascending order, torch.unique with dim. A
 * composition: a kernel finds the order of the subtensors, and unique's groups do the rest. */

KERNEL_TABLE_ALL(sort_subtensors);

/* Finds the order of the n subtensors along `dim`, and where groups of equal subtensors begin. */
static bool order_subtensors(adz_tensor *x, int dim, adz_tensor **order, adz_tensor **begins)
{
    static const char op[] = "unique_dim";
    const int64_t n = x->sizes[dim];
    adz_tensor *subtensors = adz_detach(x);
    for (int d = dim; d > 0; --d) { /* the other dimensions keep their order */
        subtensors = adz_transpose(subtensors, d, d - 1);
    }
    subtensors = subtensors != NULL ? adzi_compact(op, subtensors) : NULL;
    adz_tensor *scratch = adzi_scratch(op, ADZ_I64, 1, &n);
    *order = adzi_scratch(op, ADZ_I64, 1, &n);
    *begins = adzi_scratch(op, ADZ_BOOL, 1, &n);
    if (subtensors == NULL || scratch == NULL || *order == NULL || *begins == NULL) {
        return false;
    }
    const adzi_subtensors_args args = { subtensors->data, n, n > 0 ? x->numel / n : 0,
        (int64_t *)(void *)(*order)->data, (int64_t *)(void *)scratch->data,
        (bool *)(void *)(*begins)->data };
    adzi_launch(KERNEL_FOR(sort_subtensors, x->dtype), adzi_subtensors_args, &args, 1, 1);
    return true;
}

adz_tensor *adz_unique_dim(adz_tensor *x, int dim, adz_tensor **inverse, adz_tensor **counts)
{
    ADZI_COMPOSED();
    static const char op[] = "unique_dim";
    if (!adzi_unique_begin(op, x, inverse, counts)) {
        return NULL;
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    if (x->rank == 0 || (x->numel == 0 && x->sizes[d] > 0)) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            x->rank == 0
                ? "x%s has no dimension; adz_unique takes any shape"
                : "the subtensors of x%s along a dimension that is not empty have no elements to compare",
            adzi_text_shape(x));
    }
    adz_tensor *order, *begins;
    return order_subtensors(x, d, &order, &begins)
               ? adzi_unique_groups(x, d, order, begins, ADZ_SHAPE(x->sizes[d]), inverse, counts)
               : NULL;
}
