#include "ops/shape/diagonal.h"

/* A diagonal of the matrices in two dimensions, torch.diagonal.
 *
 *     y[..., k] = x[..., k, k + offset], or x[..., k - offset, k] for a negative offset
 *     dx        = zeros; dx[..., k, k + offset] = dy[..., k]
 *
 * y is a view of x: its last dimension has the sum of the two strides. The node saves no tensor,
 * because the operator is linear. */

typedef struct {
    int64_t offset; /* 0 is the main diagonal, positive ones are above it */
    int dim1, dim2; /* of the rows and of the columns, 0 or more */
} diagonal_attr;

/* The number of elements on a diagonal of a matrix: 0 if the diagonal is outside of it. */
static int64_t diagonal_length(int64_t rows, int64_t columns, int64_t offset)
{
    const int64_t down = offset < 0 ? rows + offset : rows,
                  right = offset > 0 ? columns - offset : columns;
    const int64_t n = down < right ? down : right;
    return n > 0 ? n : 0;
}

/* The position of the first element among the rows * columns elements of its matrix. The next one
 * is columns + 1 positions behind it. */
static int64_t first(int64_t columns, int64_t offset)
{
    return offset < 0 ? -offset * columns : offset;
}

/* Each element gets `columns` zeros behind it, so that the vector becomes the run of the matrix
 * from the first to the last element of the diagonal. Zeros before it and behind it complete the
 * matrix. */
adz_tensor *adzi_diagonal_put(adz_tensor *x, int64_t rows, int64_t columns, int64_t offset)
{
    if (x == NULL) {
        return NULL;
    }
    adz_shape shape = adz_tensor_shape(x);
    int64_t *last = &shape.sizes[shape.rank - 1];
    const int64_t start = first(columns, offset), run = *last * (columns + 1);
    adz_tensor *y = adz_pad(adz_unsqueeze(x, -1), (int64_t[]){ 0, columns }, 2, 0);
    *last = run;
    y = adz_pad(adz_reshape(y, shape), (int64_t[]){ start, rows * columns - start - run }, 2, 0);
    *last = rows;
    shape.sizes[shape.rank++] = columns;
    return adz_reshape(y, shape);
}

/* The dimensions of x with those of the matrix last. */
static adz_dims matrix_last(int rank, const diagonal_attr *at)
{
    int order[ADZ_MAX_RANK] = { 0 }, n = 0;
    for (int d = 0; d < rank; ++d) {
        if (d != at->dim1 && d != at->dim2) {
            order[n++] = d;
        }
    }
    order[n++] = at->dim1;
    order[n++] = at->dim2;
    return adz_dims_of(rank, order);
}

/* The matrices with dy on the diagonal, with their dimensions where those of x are. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const diagonal_attr *at = adzi_attr(node, diagonal_attr);
    const adz_shape shape = adzi_input_shape(node, 0);
    if (dy[0]->sizes[dy[0]->rank - 1] == 0) {
        return ADZ_OK; /* no element of x is on the diagonal */
    }
    const adz_dims order = matrix_last(shape.rank, at);
    int back[ADZ_MAX_RANK] = { 0 };
    for (int i = 0; i < shape.rank; ++i) {
        back[order.dims[i]] = i;
    }
    adz_tensor *matrix =
        adzi_diagonal_put(dy[0], shape.sizes[at->dim1], shape.sizes[at->dim2], at->offset);
    dx[0] = adz_permute(matrix, adz_dims_of(shape.rank, back));
    return adzi_status(dx[0]);
}

/* The forward as an expression, which copies if the matrices are not contiguous: each element is
 * columns + 1 positions behind the one before. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const diagonal_attr *at = block;
    adz_tensor *matrix = adz_permute(in[0], matrix_last(in[0]->rank, at));
    if (matrix == NULL) {
        return adzi_status(NULL);
    }
    adz_shape shape = adz_tensor_shape(matrix);
    const int last = --shape.rank - 1;
    const int64_t rows = shape.sizes[last], columns = shape.sizes[last + 1],
                  n = diagonal_length(rows, columns, at->offset),
                  start = n > 0 ? first(columns, at->offset) : 0;
    shape.sizes[last] = rows * columns;
    const int64_t end = n > 0 ? start + (n - 1) * (columns + 1) + 1 : 0;
    y[0] = adz_slice(adz_reshape(matrix, shape), last, start, end, columns + 1);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(diagonal_attr, offset),
    ADZI_FIELD(diagonal_attr, dim1), ADZI_FIELD(diagonal_attr, dim2) };

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    diagonal_attr *at = block;
    const adz_tensor *x = in[0];
    if (x->rank < 2) {
        return adzi_error("diagonal", ADZ_ERR_SHAPE,
            "x%s has no matrix: it needs two dimensions; adz_diag makes a matrix of a vector",
            adzi_text_shape(x));
    }
    const int dim1 = at->dim1, dim2 = at->dim2;
    at->dim1 = adzi_dim("diagonal", x, dim1);
    at->dim2 = adzi_dim("diagonal", x, dim2);
    if (at->dim1 < 0 || at->dim2 < 0) {
        return adzi_status(NULL);
    }
    if (at->dim1 == at->dim2) {
        return adzi_error("diagonal", ADZ_ERR_DIM,
            "dim1 %d and dim2 %d are the same dimension of x%s; a matrix has two", dim1, dim2,
            adzi_text_shape(x));
    }
    const int64_t rows = x->sizes[at->dim1], columns = x->sizes[at->dim2];
    /* Diagonals outside of the matrix are clamped, so that no sum overflows. */
    at->offset = at->offset < -rows ? -rows : at->offset > columns ? columns : at->offset;
    int n = 0;
    for (int d = 0; d < x->rank; ++d) {
        if (d != at->dim1 && d != at->dim2) {
            y->shape.sizes[n] = x->sizes[d];
            y->strides[n++] = x->strides[d];
        }
    }
    y->shape.sizes[n] = diagonal_length(rows, columns, at->offset);
    y->shape.rank = n + 1;
    y->strides[n] = x->strides[at->dim1] + x->strides[at->dim2];
    const int64_t along = x->strides[at->offset < 0 ? at->dim1 : at->dim2],
                  steps = at->offset < 0 ? -at->offset : at->offset;
    /* A diagonal without elements has offset 0, which is inside the storage. */
    y->offset = y->shape.sizes[n] > 0 && x->numel > 0 ? steps * along : 0;
    return ADZ_OK;
}

const adzi_op adzi_op_diagonal = { .name = "diagonal",
    .backward = backward,
    ADZI_ATTRIBUTES(diagonal_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .view = true };

adz_tensor *adz_diagonal(adz_tensor *x, int64_t offset, int dim1, int dim2)
{
    return ADZI_RUN(diagonal, NULL, (&(diagonal_attr){ offset, dim1, dim2 }), x);
}
