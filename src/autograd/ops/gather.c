#include <string.h>

#include "autograd/ops/gather.h"

#include "autograd/ops/indices.h"

typedef struct {
    int dim;
} gather_attr;

/* dx = zeros with dy added at the places that were read. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *zeros = adz_zeros(adzi_input_shape(node, 0), (adz_dtype)dy[0]->dtype);
    adz_tensor *index = adzi_saved_input(node, 1);
    dx[0] = adz_scatter_add(zeros, adzi_attr(node, gather_attr)->dim, index, dy[0]);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_gather = { .name = "gather", .backward = backward };

typedef struct {
    const char *x;
    char *y;
    const int64_t *index;
    int rank, dim;
    size_t item;
    int64_t sizes[ADZ_MAX_RANK];   /* of the index and of y, both contiguous */
    int64_t strides[ADZ_MAX_RANK]; /* of x, in bytes; 0 along dim */
    int64_t along;                 /* of x along dim, in bytes */
} gather_args;

/* n results that lie in one row: x is the place of the first with 0 for its coordinate along dim,
 * and `step` further for each of the others. */
static void gather_row(
    const gather_args *args, int64_t first, int64_t n, const char *x, int64_t step)
{
    const int64_t *index = args->index + first, along = args->along;
    const size_t item = args->item;
    char *y = args->y + (size_t)first * item;
    if (item == 4) {
        for (int64_t k = 0; k < n; ++k) {
            memcpy(y + 4 * k, x + k * step + index[k] * along, 4);
        }
    } else if (item == 8) {
        for (int64_t k = 0; k < n; ++k) {
            memcpy(y + 8 * k, x + k * step + index[k] * along, 8);
        }
    } else {
        for (int64_t k = 0; k < n; ++k) {
            memcpy(y + (size_t)k * item, x + k * step + index[k] * along, item);
        }
    }
}

/* y[i] = the element of x at i's place, with index[i] for its coordinate along dim. */
static void gather(const void *block, int64_t begin, int64_t end)
{
    const gather_args *args = block;
    const int last = args->rank - 1;
    const int64_t row = last >= 0 ? args->sizes[last] : 1,
                  step = last >= 0 ? args->strides[last] : 0;
    int64_t place[ADZ_MAX_RANK] = { 0 }, from = 0, at = begin;
    for (int d = last; d >= 0; --d) {
        place[d] = at % args->sizes[d];
        at /= args->sizes[d];
        from += place[d] * args->strides[d];
    }
    for (int64_t n; begin < end; begin += n) {
        n = row - place[last >= 0 ? last : 0];
        n = n < end - begin ? n : end - begin;
        gather_row(args, begin, n, args->x + from, step);
        if (last < 0) {
            return;
        }
        place[last] += n;
        from += n * step;
        for (int d = last; d > 0 && place[d] == args->sizes[d]; --d) {
            from += args->strides[d - 1] - args->sizes[d] * args->strides[d];
            ++place[d - 1];
            place[d] = 0;
        }
    }
}

bool adzi_index_fits(
    const char *op, const adz_tensor *index, const adz_tensor *t, const char *name, int except)
{
    bool fits = index->rank == t->rank;
    for (int d = 0; d < t->rank && fits; ++d) {
        fits = d == except || index->sizes[d] <= t->sizes[d];
    }
    if (!fits) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "index%s does not fit %s%s: it needs the same rank and no size above its own%s",
            adzi_text_shape(index), name, adzi_text_shape(t),
            except >= 0 ? ", the dimension it counts along excepted" : "");
    }
    return fits;
}

adz_tensor *adz_gather(adz_tensor *x, int dim, adz_tensor *index)
{
    adzi_call call;
    gather_attr attr;
    if (!ADZI_ENTER(&call, gather, x, index) || (attr.dim = adzi_dim("gather", x, dim)) < 0 ||
        !adzi_want_index(&call, 1) ||
        (index->numel > 0 && !adzi_index_fits("gather", index, x, "x", attr.dim)) ||
        !adzi_want_indices(&call, 1) ||
        !adzi_indices_within("gather", call.in[1], x->rank > 0 ? x->sizes[attr.dim] : 1,
            "places of a dimension of x", x)) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)x->dtype, index->rank, index->sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_save_input(&call, 1);
    int64_t item = (int64_t)adzi_item_size(x);
    gather_args args = { .x = x->data,
        .y = y->data,
        .index = adzi_index_data(call.in[1]),
        .rank = y->rank,
        .dim = attr.dim,
        .item = (size_t)item };
    for (int d = 0; d < x->rank && y->numel > 0; ++d) {
        args.sizes[d] = y->sizes[d];
        args.strides[d] = d == attr.dim ? 0 : x->strides[d] * item;
        args.along = d == attr.dim ? x->strides[d] * item : args.along;
    }
    if (y->numel > 0) {
        adzi_launch(gather, &args, y->numel, ADZI_POINTWISE_GRAIN);
    }
    return adzi_leave(&call, y);
}
