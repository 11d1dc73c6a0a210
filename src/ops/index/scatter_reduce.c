#include <math.h>

#include "ops/index/gather.h"

/* Reduces the elements at each index, torch.scatter_reduce.
 *
 *     y = x;  y[index[i][j][k]][j][k] = reduced with src[i][j][k]      (dim 0 of rank 3)
 *
 * Sums and means are compositions of scatter_add. Without x, its elements at indices are replaced
 * first: by 0 for sums, by 1 for products, and by what any element beats for extremes. The operator
 * does products and extremes. It saves x, index and src, and y for extremes; src has the shape of
 * the index. */

KERNEL_TABLE_ALL(scatter_product);
KERNEL_TABLE_ALL(scatter_largest);
KERNEL_TABLE_ALL(scatter_smallest);

static const char op[] = "scatter_reduce";

typedef struct {
    int dim;
    int reduce;        /* an adz_scatter_reduction: a product or an extreme */
    bool include_self; /* x at the indices is an element, and not a start value of an extreme */
} reduce_attr;

static adz_tensor *reduced(adz_tensor *x, adz_tensor *index, adz_tensor *src, reduce_attr attr);

/* ---- gradients ------------------------------------------------------------------------------- */

/* What the formulas of x and of src have in common: values at the positions of y. */
typedef struct {
    int dim;
    adz_tensor *index;
} places;

/* A value of each position, at the elements of x themselves or at those of src. */
static adz_tensor *at(const places *p, adz_tensor *value, bool of_src)
{
    return of_src ? adz_gather(value, p->dim, p->index) : value;
}

/* Elements that equal the extreme share the gradient. The shares are piecewise constant. Without
 * x, the start value at the indices has no share, even if an infinite element of src equals it. */
static void extreme_slopes(const places *p, adz_tensor *const *in, adz_tensor *y, adz_tensor *dy,
    bool include_self, adz_tensor **gradients)
{
    adz_tensor *hits[2];
    for (int i = 0; i < 2; ++i) {
        adz_tensor *hit = adz_eq(in[i], at(p, y, i == 1));
        hits[i] = hit != NULL ? adz_to(hit, (adz_dtype)dy->dtype) : NULL;
    }
    if (!include_self) {
        hits[0] = adz_scatter(hits[0], p->dim, p->index, adz_zeros_like(hits[1]));
    }
    adz_tensor *share = adz_div(dy, adz_scatter_add(hits[0], p->dim, p->index, hits[1]));
    for (int i = 0; i < 2; ++i) {
        gradients[i] = adz_mul(at(p, share, i == 1), hits[i]);
    }
}

/* The derivative by an element is the product of all others. With `ones` the product of what is not
 * 0, and `zeros` the sum of what is 0, which has the value 0 and the derivative 1:
 *
 *     no other is 0:        ones / element, or ones where the element itself is 0
 *     one other is 0:       that, times (zeros - the element if it is 0)
 *     several others are:   0, and its first derivative is 0, too */
static void product_slopes(
    const places *p, adz_tensor *const *in, adz_tensor *dy, adz_tensor **gradients)
{
    adz_tensor *is_zero[2], *factor[2], *rest[2], *count[2];
    for (int i = 0; i < 2; ++i) {
        is_zero[i] = adz_eq_number(in[i], 0);
        factor[i] = adz_masked_fill(in[i], is_zero[i], 1);
        rest[i] = adz_where(is_zero[i], in[i], adz_zeros_like(in[i]));
        count[i] = is_zero[i] != NULL ? adz_to(is_zero[i], ADZ_I64) : NULL;
    }
    adz_tensor *ones =
        reduced(factor[0], p->index, factor[1], (reduce_attr){ p->dim, ADZ_SCATTER_PROD, true });
    adz_tensor *zeros = adz_scatter_add(rest[0], p->dim, p->index, rest[1]);
    adz_tensor *all = adz_scatter_add(count[0], p->dim, p->index, count[1]);
    for (int i = 0; i < 2; ++i) {
        adz_tensor *others = adz_sub(at(p, all, i == 1), count[i]);
        adz_tensor *zero = adz_sub(at(p, zeros, i == 1), rest[i]);
        zero = adz_masked_fill(zero, adz_eq_number(others, 0), 1);
        zero = adz_masked_fill(zero, adz_gt_number(others, 1), 0);
        adz_tensor *product = adz_mul(adz_div(at(p, ones, i == 1), factor[i]), zero);
        gradients[i] = adz_mul(at(p, dy, i == 1), product);
    }
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const reduce_attr *attr = adzi_attr(node, reduce_attr);
    const places p = { attr->dim, adzi_saved_input(node, 1) };
    adz_tensor *in[] = { adzi_saved_input(node, 0), adzi_saved_input(node, 2) };
    adz_tensor *gradients[2] = { NULL, NULL };
    if (p.index == NULL || in[0] == NULL || in[1] == NULL) {
        return adzi_status(NULL);
    }
    if (attr->reduce == ADZ_SCATTER_PROD) {
        product_slopes(&p, in, dy[0], gradients);
    } else {
        adz_tensor *y = adzi_saved_result(node, 0);
        extreme_slopes(&p, in, y, dy[0], attr->include_self, gradients);
    }
    dx[0] = gradients[0];
    dx[2] = gradients[1];
    return gradients[0] != NULL && gradients[1] != NULL ? ADZ_OK : adzi_status(NULL);
}

/* ---- the operator ---------------------------------------------------------------------------- */

static const adz_field fields[] = { ADZI_FIELD(reduce_attr, dim), ADZI_FIELD(reduce_attr, reduce),
    ADZI_FIELD(reduce_attr, include_self) };

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const reduce_attr *attr = block;
    const adz_dtype dtype = (adz_dtype)y[0]->dtype;
    adzi_copy(y[0], in[0]);
    if (in[1]->numel > 0) {
        adzi_scatter_launch(attr->reduce == ADZ_SCATTER_PROD ? KERNEL_FOR(scatter_product, dtype)
                            : attr->reduce == ADZ_SCATTER_AMAX
                                ? KERNEL_FOR(scatter_largest, dtype)
                                : KERNEL_FOR(scatter_smallest, dtype),
            y[0], in[2], in[1], attr->dim);
    }
}

/* Only extremes are compared with y. */
static void save(adzi_call *call, adz_tensor *const *y, const void *block)
{
    for (int i = 0; i < 3; ++i) {
        adzi_save_input(call, i);
    }
    if (((const reduce_attr *)block)->reduce != ADZ_SCATTER_PROD) {
        adzi_save_result(call, 0, y[0]);
    }
}

const adzi_op adzi_op_scatter_reduce = { .name = "scatter_reduce",
    .backward = backward,
    ADZI_ATTRIBUTES(reduce_attr, fields),
    .strided_inputs = 1u << 0 | 1u << 1 | 1u << 2 };

static adz_tensor *reduced(adz_tensor *x, adz_tensor *index, adz_tensor *src, reduce_attr attr)
{
    static const adzi_steps steps = { .check = adzi_scatter_check, .save = save, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_scatter_reduce, steps, &attr, x, index, src);
}

/* ---- compositions ---------------------------------------------------------------------------- */

/* x with what the reduction starts from at the indices. An extreme of integers starts from one of
 * the elements, because f64 does not hold the largest i64. */
static adz_tensor *emptied(
    adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src, adz_scatter_reduction reduce)
{
    const bool extreme = reduce == ADZ_SCATTER_AMAX || reduce == ADZ_SCATTER_AMIN;
    if (extreme && !adzi_is_float((adz_dtype)x->dtype)) {
        return adz_scatter(x, dim, index, src);
    }
    const double start = reduce == ADZ_SCATTER_PROD   ? 1
                         : reduce == ADZ_SCATTER_AMAX ? -(double)INFINITY
                         : reduce == ADZ_SCATTER_AMIN ? (double)INFINITY
                                                      : 0;
    return adz_scatter(x, dim, index, adz_full_like(src, start));
}

/* The number of elements of each mean; 1 where there is none. */
static adz_tensor *counts(
    adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src, bool include_self)
{
    adz_tensor *zeros = adz_zeros(adz_tensor_shape(x), ADZ_I64);
    adz_tensor *one = adz_ones(adz_tensor_shape(src), ADZ_I64);
    adz_tensor *n = adz_scatter_add(zeros, dim, index, one);
    n = include_self ? adz_add_number(n, 1) : adz_clamp(n, 1, 0x1p53);
    return n != NULL ? adz_to(n, (adz_dtype)x->dtype) : NULL;
}

static bool check(const adz_tensor *x, adz_scatter_reduction reduce)
{
    if ((unsigned)reduce > ADZ_SCATTER_AMIN) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "reduce is %d, which is no adz_scatter_reduction; ADZ_SCATTER_SUM is usual",
            (int)reduce);
        return false;
    }
    if (reduce == ADZ_SCATTER_MEAN && x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        adzi_error(op, ADZ_ERR_DTYPE,
            "x is %s, but a mean needs float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    return true;
}

/* torch.scatter_reduce. Without x, its elements at the indices are replaced before the reduction.
 */
adz_tensor *adz_scatter_reduce(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src,
    adz_scatter_reduction reduce, bool include_self)
{
    ADZI_COMPOSED();
    adz_tensor *part = adzi_scatter_part(op, x, index, src);
    if (part == NULL || !check(x, reduce)) {
        return NULL;
    }
    adz_tensor *start = include_self ? x : emptied(x, dim, index, part, reduce);
    if (start == NULL) {
        return NULL;
    }
    if (reduce != ADZ_SCATTER_SUM && reduce != ADZ_SCATTER_MEAN) {
        return reduced(start, index, part, (reduce_attr){ dim, (int)reduce, include_self });
    }
    adz_tensor *sum = adz_scatter_add(start, dim, index, part);
    return reduce == ADZ_SCATTER_SUM || sum == NULL
               ? sum
               : adz_div(sum, counts(x, dim, index, part, include_self));
}
