#include "ops/index/gather.h"

/* Writes elements at indices along one dimension, torch.scatter.
 *
 *     y             = x;  y[index[i][j][k]][j][k] = src[i][j][k]      (dim 0 of rank 3)
 *     dx            = dy, with 0 where an element was written
 *     dsrc[i][j][k] = dy[index[i][j][k]][j][k], with 0 for an element that another one has replaced
 *
 * x has any shape, src has that of the index here. Elements are written in the order of the index,
 * so the last one stays. The node saves the index only. */

KERNEL_TABLE_ALL(scatter_last);

typedef struct {
    int dim; /* the dimension along which the index counts, 0 or more */
} scatter_attr;

/* Where src[i][j][k] has stayed: the numbers of its elements are written in their place and read
 * again. */
static adz_tensor *stayed(adz_tensor *index, adz_shape x, int dim)
{
    const adz_shape shape = adz_tensor_shape(index);
    adz_tensor *number =
        adz_reshape(adz_arange(0, (double)adz_tensor_numel(index), 1, ADZ_I64), shape);
    adz_tensor *last = adz_scatter(adz_zeros(x, ADZ_I64), dim, index, number);
    return adz_eq(adz_gather(last, dim, index), number);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const int dim = adzi_attr(node, scatter_attr)->dim;
    adz_tensor *index = adzi_saved_input(node, 1);
    if (index == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, 0)) {
        adz_tensor *zeros = adz_zeros(adz_tensor_shape(index), (adz_dtype)dy[0]->dtype);
        dx[0] = adz_scatter(dy[0], dim, index, zeros);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 2)) {
        adz_tensor *lost = adz_logical_not(stayed(index, adz_tensor_shape(dy[0]), dim));
        dx[2] = adz_masked_fill(adz_gather(dy[0], dim, index), lost, 0);
        return adzi_status(dx[2]);
    }
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(scatter_attr, dim) };

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const scatter_attr *at = block;
    adzi_copy(y[0], in[0]);
    if (in[1]->numel > 0) {
        adzi_scatter_launch(KERNEL_FOR(scatter_last, in[2]->dtype), y[0], in[2], in[1], at->dim);
    }
}

/* The kernels take strides, so nothing is copied. */
const adzi_op adzi_op_scatter = { .name = "scatter",
    .backward = backward,
    ADZI_ATTRIBUTES(scatter_attr, fields),
    .strided_inputs = 1u << 0 | 1u << 1 | 1u << 2,
    .saved_inputs = 1u << 1 };

adz_tensor *adzi_scatter_part(const char *op, adz_tensor *x, adz_tensor *index, adz_tensor *src)
{
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "index", index) ||
        !adzi_check_tensor(op, "src", src)) {
        return NULL;
    }
    adz_tensor *part = src;
    if (index->numel == 0) { /* writes nothing, whatever its shape and that of src */
        adz_tensor *list = adz_reshape(src, ADZ_SHAPE(src->numel));
        return adz_reshape(adz_narrow(list, 0, 0, 0), adz_tensor_shape(index));
    }
    if (!adzi_index_fits(op, index, src, "src", -1)) {
        return NULL;
    }
    for (int d = 0; d < index->rank && part != NULL; ++d) {
        if (index->sizes[d] != src->sizes[d]) {
            part = adz_narrow(part, d, 0, index->sizes[d]);
        }
    }
    return part;
}

adz_tensor *adz_scatter(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src)
{
    static const adzi_steps steps = { .check = adzi_scatter_check, .launch = launch };
    adz_tensor *part = adzi_scatter_part("scatter", x, index, src);
    return part != NULL
               ? ADZI_RUN_STEPS(&adzi_op_scatter, steps, &(scatter_attr){ dim }, x, index, part)
               : NULL;
}
