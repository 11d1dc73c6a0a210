#include "ops/shape/triangle.h"

#include <string.h>

/* The forward of tril and triu.
 *
 *     lower:  y[r][c] = x[r][c] if c <= r + diagonal, else 0
 *     upper:  y[r][c] = x[r][c] if c >= r + diagonal, else 0
 *
 * x[..., rows, columns] has any dtype. y is a copy of the same shape. Nothing is saved: the zeros
 * of the gradient are at the positions of the zeros of y. */

const adz_field adzi_triangle_fields[1] = { ADZI_FIELD(adzi_triangle_attr, diagonal) };

/* Arguments of copy_triangle. Units are rows of all matrices, in row-major order. */
typedef struct {
    const char *x;         /* [..., rows, columns], contiguous */
    char *y;               /* the result, of the shape of x */
    int64_t rows, columns; /* of one matrix */
    int64_t item;          /* bytes of an element */
    int64_t diagonal;      /* number of the last (lower) or first diagonal that is kept */
    bool lower;
} triangle_args;

ADZI_ADDRESSES(triangle_args, x, y);

/* Units are rows. A row is a run of copied bytes and a run of zero bytes. So the kernel depends on
 * the size of an element, not on its dtype. memcpy and memset choose the instruction set. */
static void copy_triangle(const void *block, int64_t begin, int64_t end)
{
    const triangle_args *args = block;
    int64_t bytes = args->columns * args->item;
    for (int64_t r = begin; r < end; ++r) {
        /* the first column that belongs to the upper part */
        int64_t at = r % args->rows + args->diagonal + (args->lower ? 1 : 0);
        at = (at < 0 ? 0 : at > args->columns ? args->columns : at) * args->item;
        const char *x = args->x + r * bytes;
        char *y = args->y + r * bytes;
        size_t left = (size_t)at, right = (size_t)(bytes - at);
        if (args->lower) {
            memcpy(y, x, left);
            memset(y + at, 0, right);
        } else {
            memset(y, 0, left);
            memcpy(y + at, x + at, right);
        }
    }
}

static adz_status shape_rule(const char *op, adz_tensor *const *in, adzi_triangle_attr *at)
{
    const adz_tensor *x = in[0];
    if (x->rank < 2) {
        return adzi_error(
            op, ADZ_ERR_SHAPE, "x%s is no matrix: it needs two dimensions", adzi_text_shape(x));
    }
    /* Diagonals beyond the matrix are clamped, so that r + diagonal cannot overflow. */
    const int64_t rows = x->sizes[x->rank - 2], columns = x->sizes[x->rank - 1];
    at->diagonal = at->diagonal < -rows ? -rows : at->diagonal > columns ? columns : at->diagonal;
    return ADZ_OK;
}

adz_status adzi_tril_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)y;
    return shape_rule("tril", in, block);
}

adz_status adzi_triu_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)y;
    return shape_rule("triu", in, block);
}

static void launch(adz_tensor *y, const adz_tensor *x, const adzi_triangle_attr *at, bool lower)
{
    const int64_t rows = x->sizes[x->rank - 2], columns = x->sizes[x->rank - 1];
    const triangle_args args = { x->data, y->data, rows, columns, (int64_t)adzi_item_size(x),
        at->diagonal, lower };
    if (y->numel > 0) {
        adzi_launch(copy_triangle, triangle_args, &args, y->numel / columns,
            adzi_grain_of(ADZI_POINTWISE_GRAIN, columns));
    }
}

void adzi_tril_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    launch(y[0], in[0], block, true);
}

void adzi_triu_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    launch(y[0], in[0], block, false);
}
