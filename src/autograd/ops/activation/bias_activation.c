#include "autograd/ops/activation/bias_activation.h"

#include "autograd/ops/activation/activation_table.h"
#include "autograd/ops/dropout/dropout.h"
#include "autograd/ops/reduction/sum.h"
#include "base/options.h"
#include "base/random_generator.h"

static const char name[] = "bias_activation";

enum { X, BIAS, GATE, GATE_BIAS, INPUTS };

typedef struct {
    adz_activation activation;
    bool given[INPUTS];
    double dropout; /* the probability; 0 outside training. Above 0 the mask is saved. */
} bias_activation_attr;

void adz_bias_activation_options_init(adz_bias_activation_options *options, size_t size)
{
    adz_bias_activation_options all = ADZ_BIAS_ACTIVATION_OPTIONS;
    adzi_options_fill(__func__, options, size, &all, sizeof all);
}

/* ---- backward ------------------------------------------------------------------------------- */

/* Whether the backward reads the inputs: not if it only drops. */
static bool reads(const bias_activation_attr *at)
{
    return at->given[GATE] || at->activation != ADZ_ACTIVATION_IDENTITY;
}

/* A saved input, ADZ_NONE if it was left out; NULL for an error. */
static adz_tensor *saved(adzi_node *node, int i)
{
    return adzi_attr(node, bias_activation_attr)->given[i] ? adzi_saved_input(node, i) : ADZ_NONE;
}

static adz_tensor *activate(adz_activation activation, adz_tensor *z)
{
    const adzi_activation_row *row = adzi_activation_row_of(activation);
    return row->call(z, row->p);
}

/* t + bias, if there is one. */
static adz_tensor *biased(adz_tensor *t, adz_tensor *bias)
{
    return bias == ADZ_NONE ? t : adz_add(t, bias);
}

/* The gradient of z where y = activate(z) was recorded just now: the activation's own expression.
 */
static adz_tensor *through(adz_tensor *dy, adz_tensor *y, adz_tensor *z)
{
    if (y == NULL || dy == NULL || y == z) {
        return y != NULL ? dy : NULL;
    }
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    adz_tensor *dz = NULL;
    return adz_autograd_grad(&y, &dy, 1, &z, &dz, 1, &o) == ADZ_OK ? dz : NULL;
}

/* With g = dy under the mask, z = x + bias and u = gate + gate_bias: the gradient of gate is
 * g f(z), that of x is f'(z) g u; those of the biases are the same, which the engine sums. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const bias_activation_attr *at = adzi_attr(node, bias_activation_attr);
    bool wants_x = adzi_needs(node, X) || adzi_needs(node, BIAS);
    bool wants_gate = adzi_needs(node, GATE) || adzi_needs(node, GATE_BIAS);
    adz_tensor *g = dy[0], *dz = g, *dgate = g;
    if (at->dropout > 0) {
        g = dz = adzi_dropout_again(g, at->dropout, adzi_saved_extra(node, 0));
    }
    if (reads(at)) {
        adz_tensor *z = biased(saved(node, X), saved(node, BIAS)), *y = activate(at->activation, z);
        if (wants_gate) {
            dgate = adz_mul(g, y);
        }
        if (wants_x && at->given[GATE]) {
            dz = adz_mul(g, biased(saved(node, GATE), saved(node, GATE_BIAS)));
        }
        if (wants_x) {
            dz = through(dz, y, z);
        }
    }
    if ((wants_x && dz == NULL) || (wants_gate && dgate == NULL)) {
        return adzi_status(NULL);
    }
    for (int i = X; i < INPUTS; ++i) {
        if (adzi_needs(node, i)) {
            dx[i] = i <= BIAS ? dz : dgate;
        }
    }
    return ADZ_OK;
}

/* The gradient of a bias, and what it is summed from when there is more than one group. */
typedef struct {
    adz_tensor *result, *sums, *total;
} bias_gradient;

static bool bias_gradient_new(
    bias_gradient *b, bool wanted, adz_dtype dtype, int64_t groups, int64_t h)
{
    *b = (bias_gradient){ NULL, NULL, NULL };
    if (!wanted) {
        return true;
    }
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

static double *sums_of(const bias_gradient *b)
{
    return b->sums != NULL ? (double *)(void *)b->sums->data : NULL;
}

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

/* Fills what the inputs say; false for an error. */
static bool set_inputs(adzi_bias_activation_args *args, adz_tensor *const *in)
{
    const char **places[INPUTS] = { &args->x, &args->bias, &args->gate, &args->gate_bias };
    for (int i = X; i < INPUTS; ++i) {
        adz_tensor *t = in[i] != NULL ? adzi_compact(name, in[i]) : NULL;
        if (t == NULL) {
            return false;
        }
        *places[i] = adzi_is_none(t) ? NULL : t->data;
    }
    return true;
}

static void set_size(adzi_bias_activation_args *args, const adz_tensor *x)
{
    args->dtype = (adz_dtype)x->dtype;
    args->h = x->sizes[x->rank - 1];
    args->n = args->h > 0 ? x->numel / args->h : 0;
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const bias_activation_attr *at = adzi_attr(node, bias_activation_attr);
    adzi_bias_activation_args args = { .activation = at->activation, .drops = at->dropout > 0 };
    bool wants_gate = adzi_needs(node, GATE) || adzi_needs(node, GATE_BIAS);
    adz_tensor *g = adzi_compact(name, dy[0]), *kept = args.drops ? adzi_saved_extra(node, 0) : g;
    if (g == NULL || kept == NULL ||
        (reads(at) && !set_inputs(&args, (adz_tensor *[]){ saved(node, X), saved(node, BIAS),
                                             saved(node, GATE), saved(node, GATE_BIAS) }))) {
        return adzi_status(NULL);
    }
    set_size(&args, g);
    int64_t groups = adzi_bias_activation_groups(&args, true);
    bias_gradient of_bias, of_gate_bias;
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
    args.dx_sums = sums_of(&of_bias);
    args.dgate_sums = sums_of(&of_gate_bias);
    if (groups > 0) {
        adzi_launch(adzi_bias_activation_backward, &args, groups, 1);
    }
    bias_gradient_finish(&of_bias, to, args.n);
    bias_gradient_finish(&of_gate_bias, dgate, args.n);
    adz_tensor *all[INPUTS] = { to, of_bias.result, dgate, of_gate_bias.result };
    for (int i = X; i < INPUTS; ++i) {
        dx[i] = adzi_needs(node, i) ? all[i] : NULL;
    }
    return ADZ_OK;
}

#define NAME(value, module, call, kernel, ...) [ADZ_ACTIVATION_##value] = #kernel,
static const char *const activations[] = {
    ADZI_ACTIVATIONS(NAME)[ADZ_ACTIVATION_IDENTITY] = "identity", NULL
};
static const adz_field fields[] = { ADZI_FIELD_ENUM(bias_activation_attr, activation, activations),
    ADZI_FIELD_HIDDEN(bias_activation_attr, given), ADZI_FIELD(bias_activation_attr, dropout) };

const adzi_op adzi_op_bias_activation = {
    .name = name, .backward = backward, .fused = fused, ADZI_FIELDS(fields)
};

/* ---- forward -------------------------------------------------------------------------------- */

static bool check_bias(const adz_tensor *x, const adz_tensor *bias, const char *what)
{
    if (adzi_is_none(bias) || (bias->rank == 1 && bias->sizes[0] == x->sizes[x->rank - 1])) {
        return true;
    }
    adzi_error(name, ADZ_ERR_SHAPE, "%s%s does not fit x%s: it has one element per column", what,
        adzi_text_shape(bias), adzi_text_shape(x));
    return false;
}

static bool check_inputs(adz_tensor *const *in)
{
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

static bool check_options(const adz_bias_activation_options *o)
{
    if (!adzi_check_activation(name, o->activation)) {
        return false;
    }
    if (!(o->dropout >= 0 && o->dropout <= 1)) {
        adzi_error(name, ADZ_ERR_ARGUMENT, "dropout is %s, but a probability lies in [0, 1]",
            adzi_text_number(o->dropout));
        return false;
    }
    return true;
}

/* The state of a generator that is not used, because everything is dropped. */
static const adz_generator_state nothing_drawn;

static void compute(adzi_bias_activation_args *args, adz_tensor *y)
{
    args->y = y->data;
    int64_t groups = adzi_bias_activation_groups(args, false);
    if (groups > 0) {
        adzi_launch(adzi_bias_activation_forward, args, groups, 1);
    }
}

adz_tensor *adz_bias_activation(adz_tensor *x, adz_tensor *bias, adz_tensor *gate,
    adz_tensor *gate_bias, const adz_bias_activation_options *options)
{
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    if (!adzi_options_read(name, "ADZ_BIAS_ACTIVATION_OPTIONS", &o, sizeof o, options)) {
        return NULL;
    }
    adzi_call call;
    adzi_bias_activation_args args = { .activation = o.activation };
    if (!ADZI_ENTER_OPTIONAL(&call, bias_activation, 7u << 1, x, bias, gate, gate_bias) ||
        !adzi_want_float(&call, X) || !check_options(&o) || !check_inputs(call.in) ||
        !set_inputs(&args, call.in)) {
        return NULL;
    }
    bias_activation_attr attr = { .activation = o.activation,
        .given = { true, bias != ADZ_NONE, gate != ADZ_NONE, gate_bias != ADZ_NONE },
        .dropout = o.training ? o.dropout : 0 };
    args.drops = attr.dropout > 0;
    bool draws = args.drops && o.dropout < 1;
    adz_generator *generator = draws ? adzi_generator_or_default(o.generator) : NULL;
    adz_tensor *y = generator != NULL || !draws ? adzi_new_like(&call, x) : NULL, *kept = NULL;
    int64_t words = y != NULL ? (y->numel + ADZI_GROUP_WORDS - 1) / ADZI_GROUP_WORDS : 0;
    bool keeps = args.drops && call.record;
    if (y == NULL || (keeps && (kept = adzi_new(&call, ADZ_I64, 1, &words)) == NULL) ||
        (call.record && !adzi_record_extra(&call, 1, &y, keeps, &attr, sizeof attr))) {
        return NULL;
    }
    for (int i = X; i < INPUTS && reads(&attr); ++i) {
        adzi_save_input(&call, i);
    }
    set_size(&args, x);
    if (args.drops) {
        args.dropout = mask_args(y, y, attr.dropout, kept);
        args.dropout.state = &nothing_drawn;
    }
    if (keeps) {
        adzi_save_extra(&call, 0, kept);
    }
    if (draws) {
        args.dropout.state = &generator->state;
    }
    compute(&args, y);
    y = adzi_leave(&call, y);
    if (y != NULL && draws) { /* only now: a call that failed has drawn nothing */
        adzi_generator_advance(generator, adzi_philox_counters(x->numel, ADZI_DRAW_WORD));
    }
    return y;
}
