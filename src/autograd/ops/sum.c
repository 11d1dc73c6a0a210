#include "autograd/ops/sum.h"

#include "autograd/op.h"

KERNEL_TABLE_ALL(sum);

typedef struct {
    unsigned mask;
} sum_attr;

/* dx = dy, repeated over what was summed. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    unsigned mask = adzi_attr(node, sum_attr)->mask;
    adz_shape shape = adzi_input_shape(node, 0), kept = shape;
    for (int i = 0; i < shape.rank; ++i) {
        kept.sizes[i] = mask & (1u << i) ? 1 : shape.sizes[i];
    }
    dx[0] = adz_expand(adz_reshape(dy[0], kept), shape);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_sum = { .name = "sum", .backward = backward };

/* Adds a dimension to a list, merged with the one before where both are walked without a jump. */
static void push(int *n, int64_t *sizes, int64_t *strides, int64_t size, int64_t stride)
{
    if (size == 1) {
        return;
    }
    if (*n > 0 && strides[*n - 1] == stride * size) {
        sizes[*n - 1] *= size;
        strides[*n - 1] = stride;
        return;
    }
    sizes[*n] = size;
    strides[(*n)++] = stride;
}

int64_t adzi_reduce_args_of(adzi_reduce_args *args, const adz_tensor *x, unsigned mask)
{
    int64_t results = 1;
    args->in = x->data;
    args->n_kept = args->n_reduced = 0;
    args->n = 1;
    for (int i = 0; i < x->rank; ++i) {
        if (mask & (1u << i)) {
            args->n *= x->sizes[i];
            push(
                &args->n_reduced, args->reduced, args->reduced_strides, x->sizes[i], x->strides[i]);
        } else {
            results *= x->sizes[i];
            push(&args->n_kept, args->kept, args->kept_strides, x->sizes[i], x->strides[i]);
        }
    }
    return results;
}

void adzi_sum_into(adz_tensor *y, const adz_tensor *x, unsigned mask, double scale)
{
    adzi_reduce_args args;
    int64_t results = adzi_reduce_args_of(&args, x, mask);
    args.out = y->data;
    args.scale = scale;
    if (results == 0) {
        return;
    }
    int64_t grain = args.n > 0 ? 32768 / args.n : results;
    adzi_launch(KERNEL_FOR(sum, x->dtype), &args, results, grain > 1 ? grain : 1);
}

void adzi_sum_rows(adz_tensor *y, const adz_tensor *g, int64_t n)
{
    adz_tensor rows = *g;
    int64_t h = y->numel;
    rows.rank = 2;
    rows.sizes[0] = n;
    rows.sizes[1] = h;
    rows.strides[0] = h;
    rows.strides[1] = 1;
    adzi_sum_into(y, &rows, 1u, 1);
}

adz_tensor *adz_sum(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_call call;
    sum_attr attr;
    if (!ADZI_ENTER(&call, sum, x) || !adzi_want_computable(&call, 0) ||
        !adzi_dims_mask("sum", x, dims, &attr.mask)) {
        return NULL;
    }
    int64_t sizes[ADZ_MAX_RANK];
    int rank = adzi_reduced_sizes(x, attr.mask, keepdim, sizes);
    adz_dtype dtype = (adz_dtype)x->dtype;
    adz_tensor *y = adzi_new(&call, adzi_is_float(dtype) ? dtype : ADZ_I64, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_sum_into(y, x, attr.mask, 1);
    return adzi_leave(&call, y);
}
