#include "ops/activation/glu.h"

#include "ops/op.h"

/* The gated linear unit, torch.nn.functional.glu (Dauphin et al., 2016).
 *
 *     y  = a s,   s = sigmoid(b)
 *     da = dy s
 *     db = dy a s (1 - s)
 *
 * a and b are the first and the second half of x[..., 2 D, ...] along dim; y is [..., D, ...]. The
 * node saves x and computes s again, because s would be one more tensor in memory. It keeps dim as
 * an attribute, counted from the first dimension. */

KERNEL_TABLE_FLOAT(glu);
KERNEL_TABLE_FLOAT(glu_backward);

typedef struct {
    int dim; /* 0 .. rank-1 */
} glu_attr;

/* The length of a run of consecutive elements of a contiguous x that belong to one half: half of
 * x's dimension times the sizes of the dimensions after it. Runs of a and of b alternate. */
static int64_t run_of(const adz_tensor *x, int dim)
{
    int64_t run = x->sizes[dim] / 2;
    for (int i = dim + 1; i < x->rank; ++i) {
        run *= x->sizes[i];
    }
    return run;
}

/* One kernel writes da and db to their positions in dx, so that nothing is sliced or concatenated.
 * dy cannot be written over, because dx is twice as large. A unit is an element of dy. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const char *op = node->op->name;
    const adz_tensor *x = adzi_compact(op, adzi_saved_input(node, 0));
    const adz_tensor *g = x != NULL ? adzi_compact(op, dy[0]) : NULL;
    if (g == NULL || (dx[0] = adzi_scratch_like(op, x)) == NULL) {
        return adzi_status(NULL);
    }
    const adzi_glu_args args = { .x = x->data,
        .dy = g->data,
        .out = dx[0]->data,
        .run = run_of(x, adzi_attr(node, glu_attr)->dim) };
    adzi_launch(
        KERNEL_FOR(glu_backward, x->dtype), adzi_glu_args, &args, g->numel, ADZI_POINTWISE_GRAIN);
    return ADZ_OK;
}

/* The forward as an expression, on the two halves of x. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const int d = ((const glu_attr *)attr)->dim;
    adz_tensor *halves[2] = { NULL };
    const int64_t size = in[0]->sizes[d] / 2;
    if (adz_split_sizes(in[0], (int64_t[]){ size, size }, 2, d, halves) != ADZ_OK) {
        return adzi_status(NULL);
    }
    y[0] = adz_mul(halves[0], adz_sigmoid(halves[1]));
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(glu_attr, dim) };

/* The size of x along dim must be even. A scalar has no dimension to halve. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    glu_attr *at = block;
    const adz_tensor *x = in[0];
    const int dim = at->dim;
    at->dim = adzi_dim("glu", x, dim);
    if (at->dim < 0) {
        return adzi_status(NULL);
    }
    if (x->rank == 0 || x->sizes[at->dim] % 2 != 0) {
        return adzi_error("glu", ADZ_ERR_SHAPE,
            "dimension %d of x%s has to be even: its first half is gated by its second", dim,
            adzi_text_shape(x));
    }
    y->shape.sizes[at->dim] /= 2;
    return ADZ_OK;
}

/* A unit is an element of y. The kernel walks contiguous runs. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const glu_attr *at = block;
    const adzi_glu_args args = {
        .x = in[0]->data, .dy = NULL, .out = y[0]->data, .run = run_of(in[0], at->dim)
    };
    adzi_launch(
        KERNEL_FOR(glu, y[0]->dtype), adzi_glu_args, &args, y[0]->numel, ADZI_POINTWISE_GRAIN);
}

const adzi_op adzi_op_glu = { .name = "glu",
    .fused = fused,
    ADZI_ATTRIBUTES(glu_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_glu(adz_tensor *x, int dim)
{
    return ADZI_RUN(glu, launch, &(glu_attr){ dim }, x);
}
