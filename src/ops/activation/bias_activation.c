#include "ops/activation/bias_activation.h"

#include "autograd/operator.h"
#include "ops/activation/activation_table.h"
#include "ops/dropout/dropout.h"
#include "ops/reduction/sum.h"
#include "ops/options.h"
#include "base/random_generator.h"

/* Bias, activation function, gate and dropout between two matrix products, in one pass over memory.
 *
 *     y = m f(z) u,   z = x + bias,   u = gate + gate_bias
 *     m = mask / (1 - p), mask = 1 with probability 1 - p
 *
 *     dx    = dy m u f'(z)        dbias      = sum of dx over the rows
 *     dgate = dy m f(z)           dgate_bias = sum of dgate over the rows
 *
 * x[..., H] and gate[..., H] are seen as [N, H]; bias and gate_bias are [H]. Without a gate u is 1.
 * With the identity for f and a gate this is a bilinear unit, with sigmoid it is GLU.
 *
 * The node saves all inputs that were given, and z, f(z) and u are computed again: that costs a
 * pass in the cache and saves three tensors of x's size. If f is the identity and there is no gate,
 * the backward reads no input and none is saved. With dropout the node saves the mask, one bit per
 * element. */

/* The operator's name in messages, in every function of this file. */
static const char name[] = "bias_activation";

/* The inputs of the call and of the node, by their index. */
enum { X, BIAS, GATE, GATE_BIAS, INPUTS };

/* The attributes. `given` is hidden in messages, because it follows from the inputs. */
typedef struct {
    adz_activation activation;
    bool given[INPUTS]; /* which inputs are tensors and not ADZ_NONE */
    double dropout;     /* the probability; 0 outside training. Above 0 the mask is saved. */
} bias_activation_attr;

static const adz_field options_rows[] = {
    ADZ_FIELD_AS(adz_bias_activation_options, activation, "activation", ADZ_FIELD_ENUM,
        .value = ADZ_ACTIVATION_RELU, .values = adzi_activation_names),
    ADZ_FIELD(adz_bias_activation_options, dropout, .value = 0, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_bias_activation_options, training, .value = false),
};

ADZ_OPTIONS_TABLE(adz_bias_activation_options, ADZ_BIAS_ACTIVATION_OPTIONS, options_rows)

/* ---- backward ------------------------------------------------------------------------------- */

/* True if the backward reads the inputs. It does not where y = m (x + bias), whose derivative is m.
 */
static bool reads_inputs(const bias_activation_attr *at)
{
    return at->given[GATE] || at->activation != ADZ_ACTIVATION_IDENTITY;
}

/* Saved input i, ADZ_NONE if the call left it out, or NULL with the error recorded if it was
 * changed in place since. Use it only if the backward reads inputs, since others were not saved. */
static adz_tensor *saved(adzi_node *node, int i)
{
    return adzi_attr(node, bias_activation_attr)->given[i] ? adzi_saved_input(node, i) : ADZ_NONE;
}

/* The gradient of a bias in the fused backward. With one group the rows are summed directly. With
 * several, each group writes its sum in f64 as soon as its rows are computed, and the sums of the
 * groups are added at the end. The order of additions depends on the shape alone. */
typedef struct {
    adz_tensor *result; /* [H], in the dtype of x; NULL where no gradient is wanted */
    adz_tensor *sums;   /* [groups, H], f64; NULL for one group */
    adz_tensor *total;  /* [H], f64, the sum of the sums; `result` itself if that is f64 */
} bias_gradient;

/* Allocates the tensors of a bias's gradient. False with the error recorded if memory was refused.
 */
static bool bias_gradient_new(
    bias_gradient *b, bool wanted, adz_dtype dtype, int64_t groups, int64_t h)
{
    *b = (bias_gradient){ NULL, NULL, NULL };
    if (!wanted) {
        return true;
    }
    /* One group: `sums` stays NULL, and the rows of the gradient are summed at the end. */
    b->result = b->total = adzi_scratch(name, dtype, 1, &h);
    if (b->result == NULL || groups <= 1) {
        return b->result != NULL;
    }
    b->sums = adzi_scratch(name, ADZ_F64, 2, (int64_t[]){ groups, h });
    if (dtype != ADZ_F64) {
        b->total = adzi_scratch(name, ADZ_F64, 1, &h);
    }
    return b->sums != NULL && b->total != NULL;
}

/* Sums the rows of g[n, H], or the sums of the groups, into the result. Does nothing where no
 * gradient is wanted. */
static void bias_gradient_finish(const bias_gradient *b, const adz_tensor *g, int64_t n)
{
    if (b->sums == NULL && b->result != NULL) {
        adzi_sum_rows(b->result, g, n);
    } else if (b->result != NULL) {
        adzi_sum_rows(b->total, b->sums, b->sums->sizes[0]);
        if (b->total != b->result) {
            adzi_copy(b->result, b->total);
        }
    }
}

/* Where the groups write their sums, or NULL if they write none. */
static double *sums_of(const bias_gradient *b)
{
    return b->sums != NULL ? (double *)(void *)b->sums->data : NULL;
}

/* The arguments of the dropout that a pass runs on its tiles. The caller sets `state` if a mask is
 * to be drawn. `kept` is NULL if the mask is not stored. */
static adzi_dropout_args mask_args(
    const adz_tensor *from, adz_tensor *to, double dropout, adz_tensor *kept)
{
    const double keep = 1 - dropout;
    return (adzi_dropout_args){ .x = from->data,
        .y = to->data,
        .kept = kept != NULL ? (uint64_t *)(void *)kept->data : NULL,
        .n = to->numel,
        .keep = keep,
        .scale = keep > 0 ? 1 / keep : 0 };
}

static const char *elements(const adz_tensor *t)
{
    return adzi_is_none(t) ? NULL : t->data;
}

/* Sets the pointers of the inputs, which are contiguous. */
static void set_inputs(adzi_bias_activation_args *args, adz_tensor *const *in)
{
    args->x = elements(in[X]);
    args->bias = elements(in[BIAS]);
    args->gate = elements(in[GATE]);
    args->gate_bias = elements(in[GATE_BIAS]);
}

/* Reads the saved inputs, which are copied where they are not contiguous. False with the error
 * recorded if one was changed, or if memory was refused. */
static bool read_inputs(adzi_bias_activation_args *args, adzi_node *node)
{
    adz_tensor *in[INPUTS];
    for (int i = X; i < INPUTS; ++i) {
        in[i] = adzi_compact(name, saved(node, i));
        if (in[i] == NULL) {
            return false;
        }
    }
    set_inputs(args, in);
    return true;
}

/* Sees x[..., H] as [N, H], which a contiguous x allows. An empty last dimension gives N = 0, since
 * the number of rows would be 0 / 0. */
static void set_size(adzi_bias_activation_args *args, const adz_tensor *x)
{
    args->dtype = (adz_dtype)x->dtype;
    args->h = x->sizes[x->rank - 1];
    args->n = args->h > 0 ? x->numel / args->h : 0;
}

/* Computes all gradients in one launch, without recording. Each tile of dy goes through the mask,
 * the gate and f'(z) while it is in the cache. dx may be written over dy. dx is computed also if
 * the bias alone wants a gradient, because its rows are what the sums add up. The launch leaves the
 * sums of its groups, which bias_gradient_finish adds after it. Everything that can fail comes
 * before the launch. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const bias_activation_attr *at = adzi_attr(node, bias_activation_attr);
    adzi_bias_activation_args args = { .activation = at->activation, .drops = at->dropout > 0 };
    bool wants_gate = adzi_needs(node, GATE) || adzi_needs(node, GATE_BIAS);
    adz_tensor *g = adzi_compact(name, dy[0]), *kept = args.drops ? adzi_saved_extra(node, 0) : g;
    if (g == NULL || kept == NULL || (reads_inputs(at) && !read_inputs(&args, node))) {
        return adzi_status(NULL);
    }
    set_size(&args, g); /* dy has x's shape; x itself may not have been saved */
    int64_t groups = adzi_bias_activation_groups(&args, true);
    bias_gradient of_bias, of_gate_bias;
    /* `to` is dx, and the buffer of the masked dy if x and bias need no gradient. */
    adz_tensor *to = adzi_scratch_over(name, g, g);
    adz_tensor *dgate = wants_gate ? adzi_scratch_like(name, g) : NULL;
    if (to == NULL || (wants_gate && dgate == NULL) ||
        !bias_gradient_new(&of_bias, adzi_needs(node, BIAS), args.dtype, groups, args.h) ||
        !bias_gradient_new(
            &of_gate_bias, adzi_needs(node, GATE_BIAS), args.dtype, groups, args.h)) {
        return adzi_status(NULL);
    }
    if (args.drops) {
        args.dropout = mask_args(g, to, at->dropout, kept);
    }
    args.dy = g->data;
    args.dx = to->data;
    args.dgate = wants_gate ? dgate->data : NULL;
    args.wants_dx = adzi_needs(node, X) || adzi_needs(node, BIAS);
    /* NULL if there is one group, whose rows are summed below, or if no gradient is wanted. */
    args.dx_sums = sums_of(&of_bias);
    args.dgate_sums = sums_of(&of_gate_bias);
    if (groups > 0) {
        adzi_launch(adzi_bias_activation_backward, adzi_bias_activation_args, &args, groups, 1);
    }
    bias_gradient_finish(&of_bias, to, args.n);
    bias_gradient_finish(&of_gate_bias, dgate, args.n);
    /* A tensor that served as a buffer only is no gradient and is left out. */
    adz_tensor *all[INPUTS] = { to, of_bias.result, dgate, of_gate_bias.result };
    for (int i = X; i < INPUTS; ++i) {
        dx[i] = adzi_needs(node, i) ? all[i] : NULL;
    }
    return ADZ_OK;
}

KERNEL_TABLE_FLOAT(dropout_again);

/* y of a node that has saved its inputs: a call without dropout, to which the mask is applied in
 * place. A trace sees calls only, so it gets the mask's own call. */
static adz_tensor *recompute(adzi_node *node)
{
    enum { GRAIN = ADZI_POINTWISE_GRAIN / ADZI_GROUP_WORDS };
    const bias_activation_attr *at = adzi_attr(node, bias_activation_attr);
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    o.activation = at->activation;
    adz_tensor *y = adz_bias_activation(
        saved(node, X), saved(node, BIAS), saved(node, GATE), saved(node, GATE_BIAS), &o);
    if (y == NULL || at->dropout == 0) {
        return y;
    }
    adz_tensor *kept = adzi_saved_extra(node, 0);
    if (kept == NULL || adzi_self()->tracer != NULL) {
        return adzi_dropout_again(y, at->dropout, kept);
    }
    adzi_dropout_args args = mask_args(y, y, at->dropout, kept);
    adzi_launch(KERNEL_FOR(dropout_again, y->dtype), adzi_dropout_args, &args, kept->numel, GRAIN);
    return y;
}

/* f(z) by the operator of the activation function, which is recorded. */
static adz_tensor *activate(adz_activation activation, adz_tensor *z)
{
    const adzi_activation_row *row = adzi_activation_row_of(activation);
    return row->call(z, row->p);
}

/* t + bias, or t itself without a bias. Recorded. */
static adz_tensor *biased(adz_tensor *t, adz_tensor *bias)
{
    return bias == ADZ_NONE ? t : adz_add(t, bias);
}

/* The forward as an expression. Dropout in training has one for the derived backward only, which
 * has the mask that was drawn. Where no input was saved, y is linear in x, and zeros may stand for
 * it. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const bias_activation_attr *at = attr;
    adz_tensor *kept = at->dropout > 0 ? adzi_derived_extra(attr, 0) : NULL;
    if (at->dropout > 0 && kept == ADZ_NONE) {
        return adzi_error(name, ADZ_ERR_UNSUPPORTED,
            "dropout in training draws random numbers and has no expression; call adz_module_eval");
    }
    adz_tensor *x = in[X] == ADZ_NONE ? adzi_derived_zeros(attr) : in[X];
    y[0] = activate(at->activation, biased(x, in[BIAS]));
    if (at->given[GATE]) {
        y[0] = adz_mul(y[0], biased(in[GATE], in[GATE_BIAS]));
    }
    if (at->dropout > 0) {
        y[0] = adzi_dropout_again(y[0], at->dropout, kept);
    }
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD_ENUM(
                                        bias_activation_attr, activation, adzi_activation_names),
    ADZI_FIELD_HIDDEN(bias_activation_attr, given), ADZI_FIELD(bias_activation_attr, dropout) };

const adzi_op adzi_op_bias_activation = { .name = name,
    .fused = fused,
    ADZI_ATTRIBUTES(bias_activation_attr, fields),
    .expression = expression,
    .dtypes = ADZ_DTYPES_FLOATS,
    .optional_inputs = ADZI_OPTIONAL_FROM(BIAS) };

/* ---- forward -------------------------------------------------------------------------------- */

/* A bias has one element per column of x, or is left out. `what` names it in the message. */
static bool check_bias(const adz_tensor *x, const adz_tensor *bias, const char *what)
{
    if (adzi_is_none(bias) || (bias->rank == 1 && bias->sizes[0] == x->sizes[x->rank - 1])) {
        return true;
    }
    adzi_error(name, ADZ_ERR_SHAPE, "%s%s does not fit x%s: it has one element per column", what,
        adzi_text_shape(bias), adzi_text_shape(x));
    return false;
}

/* The inputs must have one dtype and fit each other. Nothing is promoted or broadcast, because the
 * passes read all operands as contiguous rows. */
static bool check(adzi_call *call, void *block)
{
    adz_tensor *const *in = call->in;
    (void)block;
    static const char *const names[INPUTS] = { "x", "bias", "gate", "gate_bias" };
    const adz_tensor *x = in[X], *gate = in[GATE];
    if (x->rank < 1) {
        adzi_error(name, ADZ_ERR_SHAPE, "x[] has no dimension; it must end in the bias's");
        return false;
    }
    for (int i = BIAS; i < INPUTS; ++i) {
        if (!adzi_is_none(in[i]) && in[i]->dtype != x->dtype) {
            adzi_error(name, ADZ_ERR_DTYPE, "x is %s, %s %s; convert one with adz_to",
                adz_dtype_name((adz_dtype)x->dtype), names[i],
                adz_dtype_name((adz_dtype)in[i]->dtype));
            return false;
        }
    }
    if (!adzi_is_none(gate) && !adzi_same_sizes(x, gate)) {
        adzi_error(name, ADZ_ERR_SHAPE, "gate%s must have the shape of x%s", adzi_text_shape(gate),
            adzi_text_shape(x));
        return false;
    }
    if (adzi_is_none(gate) && !adzi_is_none(in[GATE_BIAS])) {
        adzi_error(name, ADZ_ERR_ARGUMENT, "gate_bias is given without a gate to add it to");
        return false;
    }
    return check_bias(x, in[BIAS], names[BIAS]) && check_bias(x, in[GATE_BIAS], names[GATE_BIAS]);
}

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    bias_activation_attr at;
    const adz_generator_state *state;
    adzi_bias_activation_args args;
    int64_t groups; /* units of the launch; none for an empty x */
} bias_activation_call;

/* A mask is stored only if the call is recorded: one bit per element, in words of 64 bits. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    bias_activation_call *c = block;
    adzi_bias_activation_args *args = &c->args;
    const int64_t words = (y[0]->numel + ADZI_GROUP_WORDS - 1) / ADZI_GROUP_WORDS;
    const bool saves_mask = c->at.dropout > 0 && call->record;
    y[1] = call->second = saves_mask ? adzi_new(call, ADZ_I64, 1, &words) : NULL;
    *args = (adzi_bias_activation_args){
        .activation = c->at.activation, .drops = c->at.dropout > 0, .y = y[0]->data
    };
    set_size(args, in[X]);
    if (args->drops) {
        args->dropout = mask_args(y[0], y[0], c->at.dropout, y[1]);
        args->dropout.state = c->state;
    }
    c->groups = adzi_bias_activation_groups(args, false);
    set_inputs(args, in);
    return y[1] != NULL || !saves_mask;
}

/* The node saves the inputs as they were given, and not the contiguous copies that the launch
 * reads. */
static void save(adzi_call *call, adz_tensor *const *y, const void *block)
{
    const bias_activation_call *c = block;
    (void)y;
    for (int i = X; i < INPUTS && reads_inputs(&c->at); ++i) {
        adzi_save_input(call, i);
    }
    if (reads_inputs(&c->at)) {
        adzi_offer_recompute(call, recompute);
    }
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const bias_activation_call *c = block;
    (void)y;
    (void)in;
    if (c->groups > 0) {
        adzi_launch(
            adzi_bias_activation_forward, adzi_bias_activation_args, &c->args, c->groups, 1);
    }
}

/* The generator moves on only after a call that succeeded, by as much as adz_dropout moves it. With
 * p = 1 every element is dropped and no number is drawn. */
adz_tensor *adz_bias_activation(adz_tensor *x, adz_tensor *bias, adz_tensor *gate,
    adz_tensor *gate_bias, const adz_bias_activation_options *options)
{
    static const adzi_steps steps = {
        .check = check, .prepare = prepare, .save = save, .launch = launch, .n_kept = 1
    };
    adz_bias_activation_options o;
    if (!ADZI_OPTIONS_TAKE(
            name, adz_bias_activation_options, ADZ_BIAS_ACTIVATION_OPTIONS, &o, options)) {
        return NULL;
    }
    bias_activation_call call;
    call.at = (bias_activation_attr){ .activation = o.activation,
        .given = { true, bias != ADZ_NONE, gate != ADZ_NONE, gate_bias != ADZ_NONE },
        .dropout = o.training ? o.dropout : 0 };
    const bool draws = call.at.dropout > 0 && o.dropout < 1;
    adz_generator *generator = draws ? adzi_generator_or_default(o.generator) : NULL;
    if (draws && generator == NULL) {
        return NULL;
    }
    call.state = draws ? &generator->state : &adzi_nothing_drawn;
    adz_tensor *y =
        ADZI_RUN_STEPS(&adzi_op_bias_activation, steps, &call, x, bias, gate, gate_bias);
    if (y != NULL && draws) {
        adzi_generator_advance(generator, adzi_philox_counters(x->numel, ADZI_DRAW_WORD));
    }
    return y;
}
