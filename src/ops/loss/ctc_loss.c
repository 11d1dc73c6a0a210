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
    .name = "ctc_loss_backward", .backward = refuse_second, ADZI_FIELDS(fields)
};

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    static const char names[] = "log_probs, targets, input_lengths, target_lengths, dy";
    adzi_call call;
    adz_tensor *given[INPUTS + 1] = { NULL }, *in[INPUTS] = { NULL };
    adz_tensor *alpha = adzi_saved_extra(node, 0);
    for (int i = 0; i < INPUTS && alpha != NULL; ++i) {
        given[i] = adzi_saved_input(node, i);
        in[i] = given[i] != NULL ? adzi_compact(name, given[i]) : NULL;
        alpha = in[i] != NULL ? alpha : NULL;
    }
    given[INPUTS] = dy[0];
    if (alpha == NULL || !adzi_enter(&call, &gradient_op, names, given, INPUTS + 1, 0)) {
        return adzi_status(NULL);
    }
    const ctc_attr *attr = adzi_attr(node, ctc_attr);
    adz_tensor *upstream = adzi_compact(name, dy[0]);
    adz_tensor *beta = room(in, 2);
    adz_tensor *g = adzi_new_like(&call, in[X]);
    if (upstream == NULL || beta == NULL || g == NULL ||
        !adzi_record(&call, 1, &g, attr, sizeof *attr)) {
        return adzi_status(NULL);
    }
    adzi_ctc_args args = args_of(attr, in, alpha);
    args.beta = (double *)(void *)beta->data;
    args.dy = upstream->data;
    args.dx = g->data;
    adzi_launch(KERNEL_FOR(ctc_loss_backward, g->dtype), adzi_ctc_args, &args, args.n, 1);
    dx[X] = adzi_leave(&call, g);
    return adzi_status(dx[X]);
}

const adzi_op adzi_op_ctc_loss = { .name = name, .backward = backward, ADZI_FIELDS(fields) };

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

static bool check_shapes(const adzi_call *call, const adz_ctc_loss_options *o)
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
    if (o->blank >= in[X]->sizes[2]) {
        adzi_error(name, ADZ_ERR_ARGUMENT, "blank is %lld, but must be one of the %lld classes",
            (long long)o->blank, (long long)in[X]->sizes[2]);
        return false;
    }
    return true;
}

/* ---- forward ------------------------------------------------------------------------------- */

/* The loss of each sequence, [N]. `labels` receives target_lengths as i64. */
static adz_tensor *losses_of(
    adz_tensor *const *given, const adz_ctc_loss_options *o, adz_tensor **labels)
{
    static const char names[] = "log_probs, targets, input_lengths, target_lengths";
    adz_tensor *tensors[INPUTS] = { given[X], given[TARGETS], given[STEPS], given[LABELS] };
    adz_tensor *in[INPUTS];
    adzi_call call;
    if (!adzi_enter(&call, &adzi_op_ctc_loss, names, tensors, INPUTS, 0) ||
        !adzi_want_float(&call, X) || !check_shapes(&call, o)) {
        return NULL;
    }
    for (int i = 0; i < INPUTS; ++i) {
        if (i != X && (!adzi_want_index(&call, i) || !adzi_convert(&call, i, ADZ_I64))) {
            return NULL;
        }
        in[i] = adzi_compact(name, call.in[i]);
        if (in[i] == NULL) {
            return NULL;
        }
    }
    ctc_attr attr = { .blank = o->blank,
        .zero_infinity = o->zero_infinity,
        .joined = in[TARGETS]->rank == 1,
        .s = in[TARGETS]->sizes[in[TARGETS]->rank - 1] };
    const report_args shown = { numbers_of(in[TARGETS]), numbers_of(in[STEPS]),
        numbers_of(in[LABELS]), in[X]->sizes[0], in[X]->sizes[1], in[X]->sizes[2], attr.s,
        attr.blank, in[TARGETS]->numel, attr.joined };
    if (adzi_repeat(report, report_args, &shown) != ADZ_OK) {
        return NULL;
    }
    adz_tensor *alpha = room(in, in[X]->sizes[0]);
    adz_tensor *y =
        alpha != NULL ? adzi_new(&call, (adz_dtype)in[X]->dtype, 1, in[X]->sizes + 1) : NULL;
    if (y == NULL || !adzi_record_extra(&call, 1, &y, 1, &attr, sizeof attr)) {
        return NULL;
    }
    for (int i = 0; i < INPUTS; ++i) {
        adzi_save_input(&call, i);
    }
    adzi_save_extra(&call, 0, alpha);
    adzi_ctc_args args = args_of(&attr, in, alpha);
    args.losses = y->data;
    adzi_launch(KERNEL_FOR(ctc_loss, y->dtype), adzi_ctc_args, &args, args.n, 1);
    *labels = in[LABELS];
    return adzi_leave(&call, y);
}

/* A call without a batch is one with a batch of 1. The mean divides each loss by the number of its
 * labels, at least 1. */
adz_tensor *adz_ctc_loss(adz_tensor *log_probs, adz_tensor *targets, adz_tensor *input_lengths,
    adz_tensor *target_lengths, const adz_ctc_loss_options *options)
{
    adz_ctc_loss_options o;
    adz_tensor *given[] = { log_probs, targets, input_lengths, target_lengths }, *labels = NULL;
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
    adz_tensor *l = losses_of(given, &o, &labels);
    if (l != NULL && o.reduction == ADZ_REDUCE_MEAN) {
        adz_tensor *counts = adz_to(adz_clamp(labels, 1, INFINITY), (adz_dtype)l->dtype);
        l = adz_div(l, counts);
    }
    l = adzi_weigh_losses(name, l, ADZ_NONE, o.reduction);
    return single && l != NULL && o.reduction == ADZ_REDUCE_NONE ? adz_squeeze(l, 0) : l;
}
