#include <math.h>

#include "ops/index/indices.h"
#include "ops/op.h"

/* Adds, writes or fills subtensors at a list of indices along one dimension: torch.index_add,
 * index_copy and index_fill. Compositions: scatter_add and scatter with the list expanded over the
 * subtensors, which takes no memory. */

/* Whether source[...] has the dtype and the shape of the subtensors that are written. */
static bool fits(
    const char *op, const adz_tensor *x, int dim, const adz_tensor *source, adz_shape shape)
{
    if (source->dtype != x->dtype) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, source %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)source->dtype));
        return false;
    }
    bool same = source->rank == shape.rank;
    for (int d = 0; d < shape.rank && same; ++d) {
        same = source->sizes[d] == shape.sizes[d];
    }
    if (!same) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "source%s does not fit: for x%s, dimension %d and %lld indices it must be %s",
            adzi_text_shape(source), adzi_text_shape(x), dim, (long long)shape.sizes[dim],
            adzi_text_sizes(shape.rank, shape.sizes));
    }
    return same;
}

/* Checks the arguments, and expands the list over the subtensors: the index in the shape of source,
 * which may be NULL. *dim becomes 0 .. rank-1. */
static adz_tensor *spread(
    const char *op, adz_tensor *x, int *dim, adz_tensor *index, adz_tensor *source)
{
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "index", index) ||
        (source != NULL && !adzi_check_tensor(op, "source", source))) {
        return NULL;
    }
    *dim = adzi_dim(op, x, *dim);
    if (*dim < 0) {
        return NULL;
    }
    if (index->dtype != ADZ_I64 && index->dtype != ADZ_I32) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "index is %s, not int64 or int32; use adz_to",
            adz_dtype_name((adz_dtype)index->dtype));
    }
    if (x->rank == 0 || index->rank > 1) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "x%s needs a dimension and index%s is a list of numbers along it; for an index of x's rank use adz_scatter",
            adzi_text_shape(x), adzi_text_shape(index));
    }
    adz_shape shape = adz_shape_of(x->rank, x->sizes), list = { .rank = x->rank };
    shape.sizes[*dim] = index->numel;
    for (int d = 0; d < x->rank; ++d) {
        list.sizes[d] = d == *dim ? index->numel : 1;
    }
    if (source != NULL && !fits(op, x, *dim, source, shape)) {
        return NULL;
    }
    index = adzi_indices_of(op, index, x->sizes[*dim], "positions of a dimension of x", x);
    return adz_expand(adz_reshape(index, list), shape);
}

/* Indices that occur more than once add up. */
adz_tensor *adz_index_add(
    adz_tensor *x, int dim, adz_tensor *index, adz_tensor *source, double alpha)
{
    ADZI_COMPOSED();
    static const char op[] = "index_add";
    if (source == NULL) {
        return adzi_fail(op, ADZ_ERR_NULL, "source is NULL");
    }
    adz_tensor *at = spread(op, x, &dim, index, source);
    if (at == NULL) {
        return NULL;
    }
    if (x->dtype == ADZ_BOOL && alpha != 1) {
        return adzi_fail(
            op, ADZ_ERR_DTYPE, "x is bool, which takes no alpha but 1; convert it with adz_to");
    }
    if (!adzi_is_float((adz_dtype)x->dtype) && alpha != trunc(alpha)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "alpha is %s, but must be whole for integers",
            adzi_text_number(alpha));
    }
    return adz_scatter_add(x, dim, at, alpha == 1 ? source : adz_mul_number(source, alpha));
}

/* Of several subtensors for one index the last stays, as adz_scatter has it. */
adz_tensor *adz_index_copy(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *source)
{
    ADZI_COMPOSED();
    static const char op[] = "index_copy";
    if (source == NULL) {
        return adzi_fail(op, ADZ_ERR_NULL, "source is NULL");
    }
    adz_tensor *at = spread(op, x, &dim, index, source);
    return at != NULL ? adz_scatter(x, dim, at, source) : NULL;
}

/* The value is a constant, so gradients flow to the other elements of x alone. */
adz_tensor *adz_index_fill(adz_tensor *x, int dim, adz_tensor *index, double value)
{
    ADZI_COMPOSED();
    adz_tensor *at = spread("index_fill", x, &dim, index, NULL);
    adz_tensor *numbers =
        at != NULL ? adz_full(adz_tensor_shape(at), value, (adz_dtype)x->dtype) : NULL;
    return numbers != NULL ? adz_scatter(x, dim, at, numbers) : NULL;
}
