#include "ops/loss/class_target.h"

/* The negative log likelihood, torch.nn.functional.nll_loss.
 *
 *     l_r   = -w_{t_r} * x_{r, t_r}
 *     y     = l, its sum, or its sum over the sum of w_{t_r} for the mean
 *     dx_rc = -g_r * w_c if c = t_r, else 0
 *
 * x[N, C, ...] holds log-probabilities, the target is i64 [N, ...], w[C] are optional class weights
 * without a gradient. Rows whose target is ignore_index do not count. g_r is dy of the row, or dy
 * times the factor of the mean. The node saves the target, the weights and the factor of the mean,
 * but not x, because the loss is linear in x. */

KERNEL_TABLE_FLOAT(nll_loss);

/* The factors w_c at the class of each row times dy. The shape of x comes from the edge. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_class_attr *attr = adzi_attr(node, adzi_class_attr);
    adz_tensor *target = adzi_saved_input(node, 1), *numbers = adzi_saved_extra(node, 0);
    adz_tensor *weight = attr->weighted ? adzi_saved_input(node, 2) : ADZ_NONE;
    if (target == NULL || weight == NULL || numbers == NULL) {
        return adzi_status(NULL);
    }
    const adz_shape x = adzi_input_shape(node, 0);
    adz_tensor *shares = adzi_class_shares(node, (adz_dtype)dy[0]->dtype, target, weight);
    adz_tensor *g = adzi_class_upstream(node, dy[0], adzi_class_axis(x.rank), numbers);
    dx[0] = adz_mul(adz_mul_number(g, -1), shares);
    return adzi_status(dx[0]);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    return adzi_class_expression(y, in[0], in[1], in[2], attr);
}

static const adz_field fields[] = { ADZI_CLASS_FIELDS,
    ADZI_FIELD_HIDDEN(adzi_class_attr, smoothing) };

static bool check(adzi_call *call, void *block)
{
    adzi_class_call *c = block;
    c->rows = adzi_class_check(call, &c->at) ? adzi_class_rows(call) : NULL;
    c->numbers = c->rows != NULL ? adzi_class_numbers_new(call, c->rows, &c->at) : NULL;
    return c->numbers != NULL;
}

static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    adzi_class_call *c = block;
    (void)in;
    y[1] = c->numbers;
    return adzi_class_losses(call, y[0], c);
}

/* x is not saved: the loss is linear in it. */
static void save(adzi_call *call, adz_tensor *const *y, const void *block)
{
    (void)y, (void)block;
    adzi_save_input(call, 1);
    adzi_save_input(call, 2);
}

/* Units of the launch are rows. A row reads one element of x at a distance of l. A second launch
 * reduces the losses. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_class_call *c = block;
    const adz_tensor *x = in[0], *weight = in[2];
    const int axis = adzi_class_axis(x->rank);
    const adzi_class_args args = { .x = x->data,
        .target = (const int64_t *)(const void *)c->rows->data,
        .weight = adzi_is_none(weight) ? NULL : weight->data,
        .losses = c->losses->data,
        .c = x->sizes[axis],
        .l = adzi_numel(x->rank - axis - 1, x->sizes + axis + 1),
        .ignore_index = c->at.ignore_index };
    adzi_launch(KERNEL_FOR(nll_loss, x->dtype), adzi_class_args, &args, c->losses->numel,
        ADZI_POINTWISE_GRAIN);
    adzi_class_reduce(y[0], c);
}

const adzi_op adzi_op_nll_loss = { .name = "nll_loss",
    .fused = fused,
    ADZI_ATTRIBUTES(adzi_class_attr, fields),
    .expression = expression,
    .shape_rule = adzi_class_shape,
    .optional_inputs = ADZI_OPTIONAL(2),
    .strided_inputs = 1u << 1 };

adz_tensor *adz_nll_loss(adz_tensor *x, adz_tensor *target, adz_tensor *weight,
    int64_t ignore_index, adz_reduction reduction)
{
    static const adzi_steps steps = {
        .check = check, .prepare = prepare, .save = save, .launch = launch, .n_kept = 1
    };
    adzi_class_call c;
    c.at = (adzi_class_attr){ .reduction = reduction, .ignore_index = ignore_index };
    return ADZI_RUN_STEPS(&adzi_op_nll_loss, steps, &c, x, target, weight);
}
