#include "ops/reduction/attr.h"
#include "ops/slices.h"
#include "ops/reduction/prod.kernel.h"
#include "ops/reduction/reduce.h"

/* The product over dimensions, torch.prod.
 *
 *     y    = prod_i x_i
 *     dx_i = dy * prod_{j != i} x_j
 *
 * x has any shape. y has the sizes of x without the reduced dimensions, or with size 1 there.
 * Integers are multiplied in i64. The node saves x and not y: y / x_i is undefined where x_i is 0,
 * so the backward multiplies the other elements again. */

/* The first kernel reduces elements to states and the second joins the states of blocks. The third
 * computes the gradient of short rows. */
KERNEL_TABLE_ALL(prod_reduce);
KERNEL_TABLE_ALL(prod_combine);
KERNEL_TABLE_FLOAT(prod_backward);

/* ---- the dimensions multiplied over, brought together ---------------------------------------- */

/* How x is rearranged so that all reduced dimensions become one. */
typedef struct {
    int dim;                 /* the reduced dimension of the merged shape */
    int order[ADZ_MAX_RANK]; /* dimension i of the permuted x is order[i] of x */
    int back[ADZ_MAX_RANK];  /* the inverse permutation */
    adz_shape permuted;      /* the shape of x after the permutation */
    adz_shape merged;        /* the permuted shape with the reduced dimensions multiplied */
} merge;

/* Plans the rearrangement for the dimensions in `mask`. Neighbouring dimensions are merged where
 * they are. Dimensions that are not neighbours are first moved behind the kept ones. */
static merge merge_of(adz_shape shape, unsigned mask)
{
    merge m = { .permuted = shape };
    const unsigned lowest = mask & (0u - mask);
    /* The set bits of mask are neighbours if adding the lowest one carries through all of them. */
    const bool neighbours = ((mask + lowest) & mask) == 0;
    int n = 0;
    for (int pass = 0; pass < 2; ++pass) {
        for (int d = 0; d < shape.rank; ++d) {
            if (neighbours ? pass == 0 : (mask >> d & 1) == (unsigned)pass) {
                m.back[d] = n;
                m.order[n++] = d;
            }
        }
    }
    /* The sizes of the permuted and of the merged shape; the first reduced dimension stays and
     * takes the other ones in. */
    m.dim = -1;
    for (int i = 0; i < shape.rank; ++i) {
        const int d = m.order[i];
        m.permuted.sizes[i] = shape.sizes[d];
        if ((mask >> d & 1) == 0 || m.dim < 0) {
            m.dim = mask >> d & 1 ? m.merged.rank : m.dim;
            m.merged.sizes[m.merged.rank++] = shape.sizes[d];
        } else {
            m.merged.sizes[m.dim] *= shape.sizes[d];
        }
    }
    return m;
}

/* x in the merged shape. It is a view if the strides allow it, and a copy otherwise. */
static adz_tensor *merge_dims(adz_tensor *x, const merge *m)
{
    return adz_reshape(adz_permute(x, adz_dims_of(m->permuted.rank, m->order)), m->merged);
}

/* A gradient of the merged shape, brought back to the shape of x. */
static adz_tensor *restore_dims(adz_tensor *dx, const merge *m)
{
    return adz_permute(adz_reshape(dx, m->permuted), adz_dims_of(m->permuted.rank, m->back));
}

/* ---- backward -------------------------------------------------------------------------------- */

/* dx_i = dy * prod_{j != i} x_j, as an expression of operators. The elements are multiplied in
 * pairs, lower half by upper half, until one is left: log2(n) levels. On the way back each element
 * of a pair receives the gradient of the pair times the other element. Nothing is divided, so
 * gradients of any order are right where elements are 0. */
static adz_tensor *multiply_by_halves(adz_tensor *x, adz_tensor *dy, int dim)
{
    /* A size of 63 bits has at most 63 levels. */
    adz_tensor *low[64], *high[64], *parts[3];
    int64_t size[64];
    int levels = 0;
    for (; x != NULL && x->sizes[dim] > 1; ++levels) {
        const int64_t n = x->sizes[dim], half = n / 2;
        size[levels] = n;
        low[levels] = adz_slice(x, dim, 0, half, 1);
        high[levels] = adz_slice(x, dim, half, 2 * half, 1);
        parts[0] = adz_mul(low[levels], high[levels]);
        /* An odd last element has no partner and moves up one level unchanged. */
        parts[1] = n % 2 != 0 ? adz_slice(x, dim, n - 1, n, 1) : NULL;
        x = n % 2 != 0 ? adz_cat(parts, 2, dim) : parts[0];
    }
    adz_tensor *dx = x != NULL ? dy : NULL;
    while (dx != NULL && levels-- > 0) {
        const int64_t half = size[levels] / 2;
        const bool odd = size[levels] % 2 != 0;
        adz_tensor *pairs = odd ? adz_slice(dx, dim, 0, half, 1) : dx;
        parts[0] = adz_mul(pairs, high[levels]);
        parts[1] = adz_mul(pairs, low[levels]);
        parts[2] = odd ? adz_slice(dx, dim, half, half + 1, 1) : NULL;
        dx = adz_cat(parts, odd ? 3 : 2, dim);
    }
    return dx;
}

/* dx along the merged dimension. The kernel computes it in one launch for contiguous rows of at
 * most ADZI_PROD_BACKWARD_MOST elements, if no graph of the backward is wanted. All other cases
 * take the expression. */
static adz_tensor *along(adz_tensor *x, adz_tensor *dy, int dim, bool fused)
{
    const int64_t n = x != NULL ? x->sizes[dim] : 0;
    if (!fused || x == NULL || dim != x->rank - 1 || n > ADZI_PROD_BACKWARD_MOST) {
        return multiply_by_halves(x, dy, dim);
    }
    /* Units of the launch are the slices along `dim`, which are rows here. */
    adz_tensor *from = adzi_compact("prod", x), *g = adzi_compact("prod", dy);
    adz_tensor *dx = from != NULL && g != NULL ? adzi_scratch_like("prod", from) : NULL;
    if (dx != NULL) {
        adzi_slices_run(
            KERNEL_FOR(prod_backward, x->dtype), dx, 2, (adz_tensor *[]){ from, g }, dim);
    }
    return dx;
}

/* Both backwards. An empty x has an empty gradient. Without reduced dimensions y is x, so dx is
 * dy. */
static adz_status compute_gradient(adzi_node *node, adz_tensor **dx, adz_tensor *dy, bool fused)
{
    const adz_shape shape = adzi_input_shape(node, 0);
    adz_tensor *x = adzi_saved_input(node, 0);
    if (x == NULL) {
        return adzi_status(NULL);
    }
    if (x->numel == 0) {
        dx[0] = adz_zeros(shape, (adz_dtype)dy->dtype);
        return adzi_status(dx[0]);
    }
    const unsigned mask = adzi_attr(node, adzi_reduce_attr)->mask;
    if (mask == 0) {
        dx[0] = adz_reshape(dy, shape);
        return adzi_status(dx[0]);
    }
    /* In the merged shape there is a single dimension to reduce, and dy has size 1 in it. */
    const merge m = merge_of(shape, mask);
    adz_shape kept = m.merged;
    kept.sizes[m.dim] = 1;
    adz_tensor *g = adz_reshape(dy, kept);
    dx[0] = g != NULL ? restore_dims(along(merge_dims(x, &m), g, m.dim, fused), &m) : NULL;
    return adzi_status(dx[0]);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return compute_gradient(node, dx, dy[0], false);
}

/* Allows the kernel, because no graph of the gradient is wanted. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return compute_gradient(node, dx, dy[0], true);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* f32 is multiplied in f64, so that few intermediate products leave the range. The state of a block
 * is one product, 8 bytes. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_reduce_attr *at = block;
    const adz_dtype dtype = (adz_dtype)in[0]->dtype;
    const adzi_reducer reducer = { KERNEL_FOR(prod_reduce, dtype), KERNEL_FOR(prod_combine, dtype),
        8, { 0 } };
    adzi_reduce(reducer, y[0], NULL, in[0], at->mask);
}

const adzi_op adzi_op_prod = { .name = "prod",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(adzi_reduce_attr, adzi_reduce_fields),
    .shape_rule = adzi_sum_shape,
    .saved_inputs = 1u << 0,
    .strided_inputs = 1u << 0,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

adz_tensor *adz_prod(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_reduce_attr attr = { .keepdim = keepdim };
    return adzi_reduce_mask("prod", x, dims, &attr.mask) ? ADZI_RUN(prod, launch, &attr, x) : NULL;
}
