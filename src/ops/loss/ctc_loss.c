#include "ops/loss/ctc_loss.h"

#include <math.h>

#include "ops/loss/check_loss.h"
#include "ops/options.h"
#include "base/capture.h"

/* Connectionist temporal classification, torch.nn.functional.ctc_loss.
 *
 *     l = -log of the probability that x gives the target, after repeats and blanks are removed
 *
 * x[T, N, C] holds log-probabilities. The operator computes the loss of each sequence [N]; the
 * reduction is made of operators. The node saves x, the targets, the lengths, and alpha[N, T, 2S +
 * 1] in f64 (ctc_loss.kernel.c). Its gradient is computed by a kernel and has no derivative: a node
 * of its own says so when somebody asks for it. */

KERNEL_TABLE_FLOAT(ctc_loss);
KERNEL_TABLE_FLOAT(ctc_loss_backward);

static const char name[] = "ctc_loss";

/* How many classes there are, and so which may be the blank, the inputs say. */
static const adz_field options_rows[] = {
    ADZ_FIELD(adz_ctc_loss_options, blank, .value = 0, ADZ_AT_LEAST(0)),
    ADZI_REDUCTION_ROW(adz_ctc_loss_options),
    ADZ_FIELD(adz_ctc_loss_options, zero_infinity, .value = false),
};

ADZ_OPTIONS_TABLE(adz_ctc_loss_options, ADZ_CTC_LOSS_OPTIONS, options_rows)

enum { X, TARGETS, STEPS, LABELS, INPUTS };

typedef struct {
    int64_t blank, s;
    bool zero_infinity, joined;
} ctc_attr;

/* What a call of the loss or of its gradient gets. The node keeps the attributes alone. */
typedef struct {
    ctc_attr at;
    adz_tensor *alpha, *beta; /* beta: of the gradient */
    adz_tensor *labels;       /* target_lengths as the kernel reads them */
} ctc_call;

static const int64_t *numbers_of(const adz_tensor *t)
{
    return (const int64_t *)(const void *)t->data;
}

/* The arguments that both kernels have. Inputs are contiguous. */
static adzi_ctc_args args_of(const ctc_attr *attr, adz_tensor *const *in, adz_tensor *alpha)
{
    return (adzi_ctc_args){ .x = in[X]->data,
        .targets = numbers_of(in[TARGETS]),
        .steps = numbers_of(in[STEPS]),
        .labels = numbers_of(in[LABELS]),
        .alpha = (double *)(void *)alpha->data,
        .t = in[X]->sizes[0],
        .n = in[X]->sizes[1],
        .c = in[X]->sizes[2],
        .s = attr->s,
        .blank = attr->blank,
        .joined = attr->joined,
        .zero_infinity = attr->zero_infinity };
}

/* `steps` numbers for each state of each sequence: 2 L + 1 for L labels. */
static adz_tensor *room(adz_tensor *const *in, int64_t steps)
{
    const int64_t states = 2 * in[TARGETS]->numel + in[X]->sizes[1];
    return adzi_scratch(name, ADZ_F64, 2, (int64_t[]){ steps, states });
}

/* ---- backward ------------------------------------------------------------------------------ */

static adz_status refuse_second(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node, (void)dx, (void)dy;
    return adzi_error(name, ADZ_ERR_UNSUPPORTED,
        "ctc_loss has a first derivative only; detach its gradient before it is differentiated");
}

static const adz_field fields[] = { ADZI_FIELD(ctc_attr, blank),
    ADZI_FIELD(ctc_attr, zero_infinity), ADZI_FIELD_HIDDEN(ctc_attr, s),
    ADZI_FIELD_HIDDEN(ctc_attr, joined) };

/* The node of a gradient with a graph. It is no operator that anybody calls. Its inputs are all
 * that the gradient depends on; alpha follows from them. */
static const adzi_op gradient_op = {
    .name = "ctc_loss_backward", .backward = refuse_second, ADZI_ATTRIBUTES(ctc_attr, fields)
};

static bool prepare_gradient(adzi_call *call, adz_tensor **dx, adz_tensor *const *in, void *block)
{
    ctc_call *c = block;
    (void)call;
    (void)dx;
    c->beta = room(in, 2);
    return c->beta != NULL;
}

static void launch_gradient(adz_tensor *const *dx, adz_tensor *const *in, const void *block)
{
    const ctc_call *c = block;
    adzi_ctc_args args = args_of(&c->at, in, c->alpha);
    args.beta = (double *)(void *)c->beta->data;
    args.dy = in[INPUTS]->data;
    args.dx = dx[0]->data;
    adzi_launch(KERNEL_FOR(ctc_loss_backward, dx[0]->dtype), adzi_ctc_args, &args, args.n, 1);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *upstream)
{
    static const adzi_steps steps = { .prepare = prepare_gradient, .launch = launch_gradient };
    ctc_call c = { .at = *adzi_attr(node, ctc_attr), .alpha = adzi_saved_extra(node, 0) };
    adz_tensor *log_probs = adzi_saved_input(node, X), *targets = adzi_saved_input(node, TARGETS);
    adz_tensor *input_lengths = adzi_saved_input(node, STEPS);
    adz_tensor *target_lengths = adzi_saved_input(node, LABELS), *dy = upstream[0];
    if (c.alpha == NULL || log_probs == NULL || targets == NULL || input_lengths == NULL ||
        target_lengths == NULL) {
        return adzi_status(NULL);
    }
    dx[X] = ADZI_RUN_STEPS(
        &gradient_op, steps, &c, log_probs, targets, input_lengths, target_lengths, dy);
    return adzi_status(dx[X]);
}

/* ---- checks -------------------------------------------------------------------------------- */

typedef struct {
    const int64_t *targets, *steps, *labels;
    int64_t t, n, c, s, blank, numel;
    bool joined;
} report_args;

ADZI_ADDRESSES(report_args, targets, steps, labels);

static adz_status check_length(const char *what, int64_t at, int64_t length, int64_t most)
{
    return length >= 0 && length <= most
               ? ADZ_OK
               : adzi_error(name, ADZ_ERR_INDEX, "%s[%lld] is %lld, but must be in 0 .. %lld", what,
                     (long long)at, (long long)length, (long long)most);
}

/* Refuses lengths beyond x or the targets, and labels that are no classes or the blank. Replays of
 * a plan look at them again. */
static adz_status report(const void *block)
{
    const report_args *a = block;
    adz_status status = ADZ_OK;
    int64_t total = 0;
    for (int64_t k = 0; k < a->n && status == ADZ_OK; ++k) {
        status = check_length("input_lengths", k, a->steps[k], a->t);
        if (status == ADZ_OK) {
            status = check_length("target_lengths", k, a->labels[k], a->joined ? a->numel : a->s);
        }
        const int64_t *labels = a->targets + (a->joined ? total : k * a->s);
        const int64_t there = a->joined ? a->numel - total : a->s;
        total += a->labels[k];
        for (int64_t i = 0; status == ADZ_OK && i < a->labels[k] && i < there; ++i) {
            if (labels[i] < 0 || labels[i] >= a->c || labels[i] == a->blank) {
                status = adzi_error(name, ADZ_ERR_INDEX,
                    "label %lld of target %lld is %lld, but must be one of the %lld classes and not the blank, %lld",
                    (long long)i, (long long)k, (long long)labels[i], (long long)a->c,
                    (long long)a->blank);
            }
        }
    }
    if (status == ADZ_OK && a->joined && total != a->numel) {
        status = adzi_error(name, ADZ_ERR_SHAPE,
            "target_lengths sum to %lld, but the targets have %lld labels", (long long)total,
            (long long)a->numel);
    }
    return status;
}

static bool check_shapes(const adzi_call *call, int64_t blank)
{
    adz_tensor *const *in = call->in;
    const int64_t n = in[X]->rank == 3 ? in[X]->sizes[1] : -1;
    bool fits = n >= 0 &&
                (in[TARGETS]->rank == 1 || (in[TARGETS]->rank == 2 && in[TARGETS]->sizes[0] == n));
    for (int i = STEPS; i <= LABELS && fits; ++i) {
        fits = in[i]->rank == 1 && in[i]->sizes[0] == n;
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "log_probs%s, targets%s, input_lengths%s and target_lengths%s must be [T, N, C], [N, S] or [sum of target_lengths], [N] and [N]; without a batch [T, C], [S], [] and []",
            adzi_text_shape(in[X]), adzi_text_shape(in[TARGETS]), adzi_text_shape(in[STEPS]),
            adzi_text_shape(in[LABELS]));
        return false;
    }
    if (blank >= in[X]->sizes[2]) {
        adzi_error(name, ADZ_ERR_ARGUMENT, "blank is %lld, but must be one of the %lld classes",
            (long long)blank, (long long)in[X]->sizes[2]);
        return false;
    }
    return true;
}

/* ---- forward ------------------------------------------------------------------------------- */

static bool check(adzi_call *call, void *block)
{
    const ctc_call *c = block;
    bool good = adzi_want_float(call, X) && check_shapes(call, c->at.blank);
    for (int i = TARGETS; i < INPUTS && good; ++i) {
        good = adzi_want_index(call, i) && adzi_convert(call, i, ADZ_I64);
    }
    return good;
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    ctc_attr *at = block;
    at->joined = in[TARGETS]->rank == 1;
    at->s = in[TARGETS]->sizes[in[TARGETS]->rank - 1];
    y->shape = adz_shape_of(1, in[X]->sizes + 1);
    return ADZ_OK;
}

/* Looks at the elements of the lengths and of the targets, and makes alpha. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    ctc_call *c = block;
    const report_args shown = { numbers_of(in[TARGETS]), numbers_of(in[STEPS]),
        numbers_of(in[LABELS]), in[X]->sizes[0], in[X]->sizes[1], in[X]->sizes[2], c->at.s,
        c->at.blank, in[TARGETS]->numel, c->at.joined };
    (void)call;
    if (adzi_repeat(report, report_args, &shown) != ADZ_OK) {
        return false;
    }
    c->labels = in[LABELS];
    y[1] = c->alpha = room(in, in[X]->sizes[0]);
    return c->alpha != NULL;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const ctc_call *c = block;
    adzi_ctc_args args = args_of(&c->at, in, c->alpha);
    args.losses = y[0]->data;
    adzi_launch(KERNEL_FOR(ctc_loss, y[0]->dtype), adzi_ctc_args, &args, args.n, 1);
}

const adzi_op adzi_op_ctc_loss = { .name = name,
    .backward = backward,
    ADZI_ATTRIBUTES(ctc_attr, fields),
    .shape_rule = shape_rule,
    .saved_inputs = 1u << X | 1u << TARGETS | 1u << STEPS | 1u << LABELS };

/* The loss of each sequence, [N]. */
static adz_tensor *losses_of(adz_tensor *const *given, ctc_call *c)
{
    static const adzi_steps steps = {
        .check = check, .prepare = prepare, .launch = launch, .n_kept = 1
    };
    adz_tensor *log_probs = given[X], *targets = given[TARGETS], *input_lengths = given[STEPS];
    adz_tensor *target_lengths = given[LABELS];
    return ADZI_RUN_STEPS(
        &adzi_op_ctc_loss, steps, c, log_probs, targets, input_lengths, target_lengths);
}

/* A call without a batch is one with a batch of 1. The mean divides each loss by the number of its
 * labels, at least 1. */
adz_tensor *adz_ctc_loss(adz_tensor *log_probs, adz_tensor *targets, adz_tensor *input_lengths,
    adz_tensor *target_lengths, const adz_ctc_loss_options *options)
{
    adz_ctc_loss_options o;
    adz_tensor *given[] = { log_probs, targets, input_lengths, target_lengths };
    if (!ADZI_OPTIONS_TAKE(name, adz_ctc_loss_options, ADZ_CTC_LOSS_OPTIONS, &o, options) ||
        !adzi_check_tensor(name, "log_probs", log_probs) ||
        !adzi_check_tensor(name, "targets", targets) ||
        !adzi_check_tensor(name, "input_lengths", input_lengths) ||
        !adzi_check_tensor(name, "target_lengths", target_lengths)) {
        return NULL;
    }
    const bool single = log_probs->rank == 2 && targets->rank == 1 && input_lengths->rank == 0 &&
                        target_lengths->rank == 0;
    for (int i = 0; i < INPUTS && single; ++i) {
        given[i] = adz_unsqueeze(given[i], i == X ? 1 : 0);
        if (given[i] == NULL) {
            return NULL;
        }
    }
    ctc_call c = { .at = { .blank = o.blank, .zero_infinity = o.zero_infinity } };
    adz_tensor *l = losses_of(given, &c);
    if (l != NULL && o.reduction == ADZ_REDUCE_MEAN) {
        adz_tensor *counts = adz_to(adz_clamp(c.labels, 1, INFINITY), (adz_dtype)l->dtype);
        l = adz_div(l, counts);
    }
    l = adzi_weigh_losses(name, l, ADZ_NONE, o.reduction);
    return single && l != NULL && o.reduction == ADZ_REDUCE_NONE ? adz_squeeze(l, 0) : l;
}
