#include "ops/shape/list.h"

/* Cuts a dimension into pieces, torch.split.
 *
 *     y_k = x[start_k .. start_k + size_k - 1],   start_k = size_0 + ... + size_{k-1}
 *     dx  = dy_0, dy_1, ... joined along the dimension
 *
 * The pieces are views of x. One node has all pieces as results, so their gradients are joined
 * once. It saves no tensor: the shapes of the results are known to the node. */

/* The attributes. The sizes of the pieces are those of the results, so dim is enough. */
typedef struct {
    int dim;
} split_attr;

/* Joins the gradients of all pieces with adz_cat, which is recorded if a graph is wanted. A piece
 * that received no gradient counts as zeros. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adzi_join_gradients(node, dy, adzi_attr(node, split_attr)->dim, adz_cat);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(split_attr, dim) };

const adzi_op adzi_op_split = { .name = "split", .backward = backward, ADZI_FIELDS(fields) };

/* The pieces that are asked for: n, of these sizes, or of one size if `sizes` is NULL. */
typedef struct {
    const int64_t *sizes;
    int64_t size;
    size_t n;
} pieces;

/* Makes the views and records the node. The call is written out, because there may be any number of
 * results. The last piece takes what is left. All pieces have the strides of x and differ in offset
 * and size, so nothing is copied. After a failure all n positions of `out` are NULL. */
static adz_status split(adzi_call *call, int d, pieces of, adz_tensor **out)
{
    adz_tensor *x = call->in[0];
    split_attr attr = { d };
    int64_t start = 0;
    adz_shape shape = adz_shape_of(x->rank, x->sizes);
    for (size_t k = 0; k < of.n; ++k) {
        /* A piece never reaches beyond the dimension. */
        int64_t left = x->sizes[d] - start, width = of.sizes != NULL ? of.sizes[k] : of.size;
        shape.sizes[d] = width < left ? width : left;
        /* An empty x has no storage to point into, so the offset stays 0. */
        int64_t offset = x->numel > 0 ? start * x->strides[d] : 0;
        out[k] = adzi_new_view(call, x, x->rank, shape.sizes, x->strides, offset);
        if (out[k] == NULL) {
            return adzi_no_results(out, of.n);
        }
        start += shape.sizes[d];
    }
    return adzi_record(call, (int)of.n, out, &attr, sizeof attr) ? ADZ_OK
                                                                 : adzi_no_results(out, of.n);
}

/* Starts the call and checks what both public functions have in common. Returns the dimension,
 * counted from the first, or -1 with the error recorded. */
static int enter_split(adzi_call *call, adz_tensor *x, int dim)
{
    if (!ADZI_ENTER(call, split, x)) {
        return -1;
    }
    if (x->rank == 0) {
        adzi_error("split", ADZ_ERR_DIM, "a scalar cannot be split");
        return -1;
    }
    return adzi_dim("split", x, dim);
}

/* Pieces of given sizes, whose sum is the size of the dimension. A size may be 0. There are 1 to
 * 65535 pieces, the results that one node holds. `out` has room for n of them. */
adz_status adz_split_sizes(adz_tensor *x, const int64_t *sizes, size_t n, int dim, adz_tensor **out)
{
    ADZI_COMPOSED();
    adzi_call call;
    if (out == NULL) {
        return adzi_error_null("split", "out");
    }
    int d = enter_split(&call, x, dim);
    if (d < 0) {
        return adzi_no_results(out, n);
    }
    int64_t total = 0;
    /* The sum is checked for overflow, because sizes come from the user. */
    bool fits = n >= 1 && n <= ADZI_LIST_MOST && sizes != NULL;
    for (size_t k = 0; k < n && fits; ++k) {
        fits = sizes[k] >= 0 && !__builtin_add_overflow(total, sizes[k], &total);
    }
    /* A missing list of sizes is reported as a list that does not fit. */
    if (!fits || total != x->sizes[d]) {
        adzi_error("split", ADZ_ERR_SHAPE,
            "the %zu sizes given are not 0 or more with the sum %lld, the size of dimension %d of x%s",
            n, (long long)x->sizes[d], d, adzi_text_shape(x));
        return adzi_no_results(out, n);
    }
    return split(&call, d, (pieces){ .sizes = sizes, .n = n }, out);
}

/* Pieces of one size, of which the last may be smaller. The caller need not know how many there
 * are. `room` is what the array holds. `count`, which may be NULL, becomes the number of pieces. */
adz_status adz_split(
    adz_tensor *x, int64_t size, int dim, adz_tensor **out, size_t room, size_t *count)
{
    adzi_call call;
    if (out == NULL) {
        return adzi_error_null("split", "out");
    }
    int d = enter_split(&call, x, dim);
    if (d < 0) {
        return adzi_no_results(out, room);
    }
    int64_t whole = x->sizes[d];
    /* Size 0 fits an empty dimension only. */
    if (size < 0 || (size == 0 && whole > 0)) {
        adzi_error("split", ADZ_ERR_ARGUMENT, "pieces of size %lld do not make up the %lld of x%s",
            (long long)size, (long long)whole, adzi_text_shape(x));
        return adzi_no_results(out, room);
    }
    /* An empty dimension is one empty piece, as in PyTorch. */
    int64_t n = whole > 0 ? whole / size + (whole % size != 0) : 1;
    if (n > (int64_t)(room < ADZI_LIST_MOST ? room : ADZI_LIST_MOST)) {
        adzi_error("split", ADZ_ERR_ARGUMENT,
            "x%s splits into %lld pieces of size %lld, but there is room for %zu (at most %d)",
            adzi_text_shape(x), (long long)n, (long long)size, room, (int)ADZI_LIST_MOST);
        return adzi_no_results(out, room);
    }
    adz_status status = split(&call, d, (pieces){ .size = size, .n = (size_t)n }, out);
    /* The number is written only after success. */
    if (count != NULL && status == ADZ_OK) {
        *count = (size_t)n;
    }
    return status;
}
