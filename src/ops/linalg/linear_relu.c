#include "ops/linalg/linear.h"
#include "tensor/random/random.h"
#include "base/random_generator.h"

/* A linear layer, ReLU and dropout in one operator.
 *
 *     z  = x w^T + b
 *     y  = dropout(max(z, 0)):  y_i = max(z_i, 0) / (1 - p) where i is kept, else 0
 *     dz = dy / (1 - p) where y > 0, else 0
 *     dx = dz w,   dw = dz^T x,   db = sum of the rows of dz
 *
 * x[N, D], w[H, D], b[H] or ADZ_NONE, y[N, H]. The bits are those of the three operators one after
 * the other. The ReLU runs in the epilogue of the product. The node saves x and w as linear does,
 * and y. It saves no mask: whatever ReLU or dropout removed is 0 in y. */

KERNEL_TABLE_FLOAT(linear_relu_backward);
KERNEL_TABLE_FLOAT(dropout);

typedef struct {
    double p; /* of dropout; 0 without it */
} linear_relu_attr;

/* The factor of the elements that the dropout keeps: 1 / (1 - p), 1 without dropout, and 0 for p
 * of 1. */
static double factor_of(const adzi_node *node)
{
    const double p = adzi_attr(node, linear_relu_attr)->p;
    return p < 1 ? 1 / (1 - p) : 0;
}

/* Masks the upstream gradient by ReLU and dropout: dz = dy * factor where y > 0, and 0
 * elsewhere. */
static void mask_gradient(adz_tensor *dz, adz_tensor *dy, adz_tensor *y, double factor)
{
    adzi_pointwise(KERNEL_FOR(linear_relu_backward, y->dtype), dz, 2, (adz_tensor *[]){ dy, y },
        (double[ADZI_POINTWISE_PARAMS]){ factor });
}

/* The gradients as expressions. The slope of ReLU and dropout, 0 where y <= 0 and the factor
 * elsewhere, is piecewise constant, so only dy and the operands of the product are differentiated
 * again. */
/* Third formula: the node saves y instead of the bias and the mask of the dropout. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adz_dtype dtype = (adz_dtype)dy[0]->dtype;
    adz_tensor *y = adzi_saved_result(node, 0);
    adz_tensor *slope =
        adz_where(adz_le_number(y, 0), adz_scalar(0, dtype), adz_scalar(factor_of(node), dtype));
    adz_tensor *dz = adz_mul(dy[0], slope);
    return dz != NULL ? adzi_linear_gradients(node, dx, dz) : adzi_status(NULL);
}

/* A narrow layer masks dy inside linear_narrow. With many outputs and a gradient of x, that kernel
 * cannot mask, because dx is computed by a product. Other layers mask dy in a separate pass, in
 * place if the engine is the only owner of dy. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    if (y == NULL) {
        return adzi_status(NULL);
    }
    const double factor = factor_of(node);
    /* Few outputs or no dx: then linear_narrow can apply the mask while it reads dy. */
    const bool narrow_outputs = y->sizes[y->rank - 1] <= ADZI_LINEAR_NARROW;
    adzi_linear_narrow_args layer;
    if (adzi_is_contiguous(dy[0]) && adzi_linear_is_narrow(node, dy[0], &layer) &&
        (narrow_outputs || !adzi_needs(node, ADZI_LINEAR_X))) {
        layer.y = y->data;
        layer.factor = factor;
        return adzi_linear_gradients_narrow(node, dx, dy[0], &layer);
    }
    adz_tensor *dz = adzi_scratch_over(node->op->name, dy[0], y);
    if (dz == NULL) {
        return adzi_status(NULL);
    }
    mask_gradient(dz, dy[0], y, factor);
    return adzi_linear_gradients_fused(node, dx, dz);
}

/* The forward as an expression. Dropout in training has none, because it draws a mask. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const linear_relu_attr *at = attr;
    if (at->p > 0) {
        return adzi_error("linear_relu", ADZ_ERR_UNSUPPORTED,
            "dropout in training draws random numbers and has no expression; call adz_module_eval");
    }
    y[0] = adz_relu(adz_linear(in[ADZI_LINEAR_X], in[ADZI_LINEAR_WEIGHT], in[ADZI_LINEAR_BIAS]));
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZ_FIELD(linear_relu_attr, p, ADZ_CLOSED(0, 1)) };

/* Applies dropout to y in place. Units are groups of ADZI_GROUP_WORDS elements, which share one set
 * of random numbers. The state is read when the launch runs. */
static void apply_dropout(adz_tensor *y, double keep, const adz_generator_state *state)
{
    adzi_dropout_args args = { .state = state,
        .x = y->data,
        .y = y->data,
        .n = y->numel,
        .keep = keep,
        .scale = keep > 0 ? 1 / keep : 0 };
    adzi_launch(KERNEL_FOR(dropout, y->dtype), adzi_dropout_args, &args,
        (y->numel + ADZI_GROUP_WORDS - 1) / ADZI_GROUP_WORDS,
        ADZI_POINTWISE_GRAIN / ADZI_GROUP_WORDS);
}

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    linear_relu_attr at;
    adzi_matrix weight;
    const adz_generator_state *state; /* of the dropout; read when the launch runs */
} linear_relu_call;

static bool check(adzi_call *call, void *block)
{
    (void)block;
    return adzi_linear_check(call);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    return adzi_linear_shape(y, "linear_relu", in);
}

/* A weight that the product cannot read where it is becomes a copy, whose memory may be refused. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    linear_relu_call *c = block;
    (void)y;
    return adzi_linear_matrix(call->op->name, in[ADZI_LINEAR_WEIGHT], &c->weight) != NULL;
}

static void save(adzi_call *call, adz_tensor *const *y, const void *block)
{
    (void)block;
    adzi_linear_save(call);
    adzi_save_result(call, 0, y[0]);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const linear_relu_call *c = block;
    adzi_gemm_args product = adzi_linear_product(y[0], in, &c->weight);
    product.relu = true;
    adzi_gemm_run(&product);
    if (c->at.p > 0) {
        apply_dropout(y[0], 1 - c->at.p, c->state);
    }
}

const adzi_op adzi_op_linear_relu = { .name = "linear_relu",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(linear_relu_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .optional_inputs = ADZI_OPTIONAL(ADZI_LINEAR_BIAS),
    .strided_inputs = 1u << ADZI_LINEAR_WEIGHT };

/* The operator without dropout. */
adz_tensor *adz_linear_relu(adz_tensor *x, adz_tensor *weight, adz_tensor *bias)
{
    ADZI_COMPOSED();
    return adz_linear_relu_dropout(x, weight, bias, 0, false, NULL);
}

/* The generator advances only after success, by as many numbers as y has elements. With p = 1
 * everything is dropped and no number is drawn. */
adz_tensor *adz_linear_relu_dropout(adz_tensor *x, adz_tensor *weight, adz_tensor *bias, double p,
    bool training, adz_generator *generator)
{
    ADZI_COMPOSED();
    static const adzi_steps steps = {
        .check = check, .prepare = prepare, .save = save, .launch = launch
    };
    const bool draws = training && p > 0 && p < 1;
    if ((p != 0 && !adzi_field_takes("linear_relu", &fields[0], p)) ||
        (draws && (generator = adzi_generator_or_default(generator)) == NULL)) {
        return NULL;
    }
    linear_relu_call c;
    c.at.p = training ? p : 0;
    c.state = draws ? &generator->state : &adzi_nothing_drawn;
    adz_tensor *y = ADZI_RUN_STEPS(&adzi_op_linear_relu, steps, &c, x, weight, bias);
    if (draws && y != NULL) { /* only now: a call that failed has drawn nothing */
        adzi_generator_advance(generator, adzi_philox_counters(y->numel, ADZI_DRAW_WORD));
    }
    return y;
}
