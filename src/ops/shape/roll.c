#include "ops/op.h"

typedef struct {
    int dim;
    int64_t shift;
} roll_attr;

/* Messages and pictures of graphs show the attributes by this table. */
static const adz_field fields[] = { ADZI_FIELD(roll_attr, shift), ADZI_FIELD(roll_attr, dim) };

/* y_i = x_(i - shift), so dx_i = dy_(i + shift): the gradient is rolled back. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const roll_attr *at = adzi_attr(node, roll_attr);
    dx[0] = adz_roll(dy[0], -at->shift, at->dim);
    return adzi_status(dx[0]);
}

/* The forward as an expression: the last positions come before the others. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const roll_attr *at = block;
    const int64_t size = in[0]->sizes[at->dim];
    const int64_t start = at->shift < 0 ? at->shift + size : at->shift;
    adz_tensor *parts[] = { adz_narrow(in[0], at->dim, size - start, start),
        adz_narrow(in[0], at->dim, 0, size - start) };
    y[0] = adz_cat(parts, 2, at->dim);
    return adzi_status(y[0]);
}

/* Positions of x along the dimension, and where y has them. */
typedef struct {
    int64_t from, to, count;
} run;

static void copy_run(adz_tensor *y, const adz_tensor *x, int dim, run of)
{
    if (of.count == 0 || x->numel == 0) {
        return;
    }
    const int64_t item = (int64_t)adzi_item_size(x);
    adz_tensor target = *y, source = *x;
    target.data += of.to * y->strides[dim] * item;
    source.data += of.from * x->strides[dim] * item;
    target.sizes[dim] = source.sizes[dim] = of.count;
    target.numel = source.numel = x->numel / x->sizes[dim] * of.count;
    adzi_copy(&target, &source);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    roll_attr *at = block;
    (void)y;
    if (in[0]->rank == 0) {
        return adzi_error("roll", ADZ_ERR_DIM, "a scalar has no dimension to roll");
    }
    at->dim = adzi_dim("roll", in[0], at->dim);
    if (at->dim < 0) {
        return adzi_status(NULL);
    }
    const int64_t size = in[0]->sizes[at->dim];
    at->shift = size > 0 ? at->shift % size : 0;
    return ADZ_OK;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const roll_attr *at = block;
    const int64_t size = in[0]->sizes[at->dim];
    const int64_t start = at->shift < 0 ? at->shift + size : at->shift; /* of x's first position */
    copy_run(y[0], in[0], at->dim, (run){ .from = 0, .to = start, .count = size - start });
    copy_run(y[0], in[0], at->dim, (run){ .from = size - start, .to = 0, .count = start });
}

const adzi_op adzi_op_roll = { .name = "roll",
    .backward = backward,
    ADZI_ATTRIBUTES(roll_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .strided_inputs = 1u << 0 };

adz_tensor *adz_roll(adz_tensor *x, int64_t shift, int dim)
{
    return ADZI_RUN(roll, launch, (&(roll_attr){ dim, shift }), x);
}
