#include "ops/norm/batch_norm.h"

#include <math.h>

#include "ops/op.h"
#include "ops/norm/channels.h"
#include "ops/norm/normalise.h"
#include "ops/norm/running.h"

/* Batch normalisation, torch.nn.functional.batch_norm (Ioffe and Szegedy, 2015).
 *
 *     m_c, v_c  = mean and variance of x over N and L in training, the running ones in evaluation
 *     unit      = (x - m_c) * rstd_c,   rstd_c = 1 / sqrt(v_c + eps)
 *     y         = unit * weight_c + bias_c
 *
 *     dweight_c = sum of dy * unit over N and L
 *     dbias_c   = sum of dy over N and L
 *     dx        = rstd_c * (g - mean(g) - unit * mean(g * unit)),   g = dy * weight_c   (training)
 *     dx        = rstd_c * g (evaluation)
 *
 * x[N, C, L] stands for x[N, C, ...] of any rank from 2 on. Weight, bias and running statistics are
 * [C]; each of the first two, and the last two together, may be ADZ_NONE. x, weight and bias are
 * differentiable. The node saves x, the weight, and the f64 statistics that the forward used. So
 * the fused backward needs no second pass for them. The expression computes them again from x,
 * because a second derivative goes through them. In evaluation the running statistics are not
 * saved, because a training may go on before the backward runs. While a function is traced they
 * are, so that recorded operators compute the gradient. */

/* `moments` computes mean and variance of x, `batch_norm` the result, `sums` the two sums of the
 * backward, and `dx` the gradient of x. */
KERNEL_TABLE_FLOAT(batch_norm);
KERNEL_TABLE_FLOAT(batch_norm_dx);
KERNEL_TABLE_FLOAT(batch_norm_moments);
KERNEL_TABLE_FLOAT(batch_norm_sums);

enum { GRAIN = 8192 };                                       /* elements worth a thread */
enum { X, RUNNING_MEAN, RUNNING_VAR, WEIGHT, BIAS, INPUTS }; /* the order of the inputs */
enum { MOMENTUM = 1, EPS };                                  /* their rows in the table */

typedef struct {
    bool training; /* the statistics are those of x, and depend on it */
    bool weighted; /* there is a weight, which the node has saved */
    double momentum, eps;
} batch_norm_attr;

/* Describes x[N, C, L] to the kernels. `stats` is f64 [2, C]: the means, then the rstd. */
static adzi_batch_norm_args args_of(const adz_tensor *x, const adz_tensor *stats)
{
    double *numbers = (double *)(void *)stats->data;
    return (adzi_batch_norm_args){ .x = x->data,
        .mean = numbers,
        .rstd = numbers + x->sizes[1],
        .n = x->sizes[0],
        .c = x->sizes[1],
        .l = adzi_numel(x->rank - 2, x->sizes + 2) };
}

/* Number of units of the elementwise kernels. A unit is one row of L elements of a channel, or, if
 * L is 1, the C elements of one sample. */
static int64_t rows_of(const adzi_batch_norm_args *args)
{
    return args->l == 1 ? args->n : args->n * args->c;
}

/* How many of these units are worth a thread. */
static int64_t row_grain(const adzi_batch_norm_args *args)
{
    return adzi_grain_of(GRAIN, args->l == 1 ? args->c : args->l);
}

/* ---- backward ------------------------------------------------------------------------------ */

/* The weight, ADZ_NONE if the call had none, or NULL if it has changed since the forward. */
static adz_tensor *saved_weight(adzi_node *node)
{
    return adzi_attr(node, batch_norm_attr)->weighted ? adzi_saved_input(node, WEIGHT) : ADZ_NONE;
}

/* Row k of f64 [K, C], converted to a dtype: one number per channel. */
static adz_tensor *channel_numbers(const adz_tensor *numbers, int k, adz_dtype dtype)
{
    int64_t c = numbers->sizes[1];
    adz_tensor row = *numbers, *y = adzi_scratch("batch_norm", dtype, 1, &c);
    row.rank = 1;
    row.sizes[0] = c;
    row.strides[0] = 1;
    row.data += (size_t)k * (size_t)c * sizeof(double);
    if (y != NULL) {
        adzi_copy(y, &row);
    }
    return y;
}

/* t[C] as [C, 1, ...], which broadcasts to x[N, C, ...]. */
static adz_tensor *along_channels(adz_tensor *t, const adz_tensor *x)
{
    adz_shape shape = { .rank = x->rank - 1 };
    for (int i = 0; i < shape.rank; ++i) {
        shape.sizes[i] = i == 0 ? x->sizes[1] : 1;
    }
    return adz_reshape(t, shape);
}

/* All dimensions except that of the channels. */
static adz_dims all_but_channels(const adz_tensor *x)
{
    adz_dims dims = { .count = 0 };
    for (int i = 0; i < x->rank; ++i) {
        if (i != 1) {
            dims.dims[dims.count++] = i;
        }
    }
    return dims;
}

/* unit and rstd for the expression. In training the statistics are computed again from x, so that
 * the gradient can be differentiated through them. In evaluation they are the saved constants. */
static adzi_normalised normalised(adzi_node *node, adz_tensor *x, adz_dims dims)
{
    const batch_norm_attr *at = adzi_attr(node, batch_norm_attr);
    if (at->training) {
        return adzi_normalise(x, dims, at->eps);
    }
    if (node->inputs[RUNNING_MEAN].saved != NULL) { /* the call was traced */
        adz_tensor *var = adz_add_number(adzi_saved_input(node, RUNNING_VAR), at->eps);
        adz_tensor *centre = along_channels(adzi_saved_input(node, RUNNING_MEAN), x);
        adz_tensor *factor = along_channels(adz_rsqrt(var), x);
        return (adzi_normalised){ adz_mul(adz_sub(x, centre), factor), factor };
    }
    adz_tensor *stats = adzi_saved_extra(node, 0);
    if (stats == NULL) {
        return (adzi_normalised){ NULL, NULL };
    }
    adz_dtype dtype = (adz_dtype)x->dtype;
    adz_tensor *mean = along_channels(channel_numbers(stats, 0, dtype), x);
    adz_tensor *rstd = along_channels(channel_numbers(stats, 1, dtype), x);
    return (adzi_normalised){ adz_mul(adz_sub(x, mean), rstd), rstd };
}

/* The gradients as an expression of operators. All sums run over every dimension except 1, which
 * holds the channels. */
/* Third formula: in evaluation the node does not save the running statistics. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, X), *w = saved_weight(node);
    if (x == NULL || w == NULL) {
        return adzi_status(NULL);
    }
    const adz_dims dims = all_but_channels(x);
    adzi_normalised n = normalised(node, x, dims);
    if (n.unit == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, X)) {
        adz_tensor *g = w == ADZ_NONE ? dy[0] : adz_mul(dy[0], along_channels(w, x));
        dx[X] = adzi_attr(node, batch_norm_attr)->training ? adzi_normalise_gradient(n, g, dims)
                                                           : adz_mul(g, n.rstd);
        if (dx[X] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, WEIGHT)) {
        dx[WEIGHT] = adz_sum(adz_mul(dy[0], n.unit), dims, ADZ_DROPDIM);
        if (dx[WEIGHT] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, BIAS)) {
        dx[BIAS] = adz_sum(dy[0], dims, ADZ_DROPDIM);
        return adzi_status(dx[BIAS]);
    }
    return ADZ_OK;
}

/* The gradients in two launches. The first one finds the two sums of each channel, with channels as
 * units. These sums are dbias and dweight, and the second launch needs them for dx, which it may
 * write over dy. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, X), *w = saved_weight(node);
    adz_tensor *stats = adzi_saved_extra(node, 0), *g = adzi_compact("batch_norm", dy[0]);
    if (x == NULL || w == NULL || stats == NULL || g == NULL) {
        return adzi_status(NULL);
    }
    /* The saved x may be a view; the kernels read contiguous [N, C, L]. */
    x = adzi_compact("batch_norm", x);
    w = adzi_compact("batch_norm", w);
    adz_tensor *sums = adzi_scratch_like("batch_norm", stats);
    if (x == NULL || w == NULL || sums == NULL) {
        return adzi_status(NULL);
    }
    adz_dtype dtype = (adz_dtype)x->dtype;
    adzi_batch_norm_args args = args_of(x, stats);
    args.dy = g->data;
    args.weight = adzi_is_none(w) ? NULL : w->data;
    args.sum = (double *)(void *)sums->data;
    args.along = args.sum + args.c;
    /* In evaluation dx has no terms from the statistics. */
    args.constant = !adzi_attr(node, batch_norm_attr)->training;
    adzi_launch(KERNEL_FOR(batch_norm_sums, dtype), adzi_batch_norm_args, &args, args.c,
        adzi_grain_of(GRAIN, args.n * args.l));
    if (adzi_needs(node, X)) {
        dx[X] = adzi_scratch_over("batch_norm", g, x);
        if (dx[X] == NULL) {
            return adzi_status(NULL);
        }
        args.out = dx[X]->data;
        adzi_launch(KERNEL_FOR(batch_norm_dx, dtype), adzi_batch_norm_args, &args, rows_of(&args),
            row_grain(&args));
    }
    if (adzi_needs(node, WEIGHT)) {
        dx[WEIGHT] = channel_numbers(sums, 1, dtype);
        if (dx[WEIGHT] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, BIAS)) {
        dx[BIAS] = channel_numbers(sums, 0, dtype);
        return adzi_status(dx[BIAS]);
    }
    return ADZ_OK;
}

/* The forward as an expression. It does not move the running statistics. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const batch_norm_attr *at = attr;
    adz_tensor *x = in[X];
    const adz_dims dims = all_but_channels(x);
    if (at->training) {
        y[0] = adzi_normalise(x, dims, at->eps).unit;
    } else {
        adz_tensor *rstd = adz_rsqrt(adz_add_number(in[RUNNING_VAR], at->eps));
        adz_tensor *centred = adz_sub(x, along_channels(in[RUNNING_MEAN], x));
        y[0] = rstd != NULL ? adz_mul(centred, along_channels(rstd, x)) : NULL;
    }
    if (in[WEIGHT] != ADZ_NONE) {
        y[0] = adz_mul(y[0], along_channels(in[WEIGHT], x));
    }
    if (in[BIAS] != ADZ_NONE) {
        y[0] = adz_add(y[0], along_channels(in[BIAS], x));
    }
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(batch_norm_attr, training),
    ADZ_FIELD(batch_norm_attr, momentum, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(batch_norm_attr, eps, ADZ_AT_LEAST(0)),
    ADZI_FIELD_HIDDEN(batch_norm_attr, weighted) };

const adzi_op adzi_op_batch_norm = { .name = "batch_norm",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(batch_norm_attr, fields),
    .expression = expression,
    .dtypes = ADZ_DTYPES_FLOATS,
    .optional_inputs = ADZI_OPTIONAL_FROM(1),
    .strided_inputs = 1u << RUNNING_MEAN | 1u << RUNNING_VAR };

/* ---- forward ------------------------------------------------------------------------------- */

/* Running statistics are updated in place in training, so they need their own memory and may not
 * be on the tape. */
static bool check_running(const adz_tensor *mean, const adz_tensor *var, bool training)
{
    if (adzi_is_none(mean) != adzi_is_none(var) || (!training && adzi_is_none(mean))) {
        adzi_error("batch_norm", ADZ_ERR_ARGUMENT,
            "running_mean and running_var come together, and evaluation needs them");
        return false;
    }
    if (adzi_is_none(mean)) {
        return true;
    }
    if (adzi_requires_grad(mean) || adzi_requires_grad(var)) {
        adzi_error("batch_norm", ADZ_ERR_UNSUPPORTED,
            "running_mean and running_var have no gradient; use adz_detach");
        return false;
    }
    if (training && !(adzi_is_dense(mean) && adzi_is_dense(var))) {
        adzi_error("batch_norm", ADZ_ERR_INPLACE,
            "running_mean or running_var was expanded and cannot be updated in place; use adz_contiguous");
        return false;
    }
    return true;
}

/* The numbers of a call that are no attributes. */
typedef struct {
    const int64_t *batches; /* NULL, or the momentum is 1 / (*batches + 1) when the launch runs */
    double *batch;          /* where adzi_batch_norm_hand_out writes; else NULL */
} norm_numbers;

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    batch_norm_attr at;
    norm_numbers numbers;
} batch_norm_call;

/* Checks everything that can fail before the first launch: running statistics are changed in place
 * and cannot be restored. */
static bool check(adzi_call *call, void *block)
{
    static const char *const names[] = { "x", "running_mean", "running_var", "weight", "bias" };
    batch_norm_attr *at = &((batch_norm_call *)block)->at;
    const adz_tensor *x = call->in[X];
    /* The second dimension holds the channels. */
    if (x->rank < 2) {
        adzi_error("batch_norm", ADZ_ERR_SHAPE, "x%s needs two dimensions or more: [N, C, ...]",
            adzi_text_shape(x));
        return false;
    }
    for (int i = RUNNING_MEAN; i < INPUTS; ++i) {
        if (!adzi_check_channels("batch_norm", x, call->in[i], names[i])) {
            return false;
        }
    }
    at->weighted = !adzi_is_none(call->in[WEIGHT]);
    if (!check_running(call->in[RUNNING_MEAN], call->in[RUNNING_VAR], at->training) ||
        !adzi_field_takes("batch_norm", &fields[MOMENTUM], at->momentum) ||
        !adzi_field_takes("batch_norm", &fields[EPS], at->eps)) {
        return false;
    }
    /* One value per channel is its own mean and would be normalised to 0. PyTorch refuses this,
     * too. */
    if (at->training && x->numel > 0 && x->numel == x->sizes[1]) {
        adzi_error("batch_norm", ADZ_ERR_SHAPE,
            "x%s has a single value per channel, of which training cannot take a variance",
            adzi_text_shape(x));
        return false;
    }
    return true;
}

/* Arguments of take_statistics. Units are channels. mean and rstd are contiguous f64 vectors;
 * running statistics may have a stride. */
typedef struct {
    double *mean, *rstd; /* in training the moments of x before, else only written */
    adzi_running running_mean, running_var;
    double *batch;    /* gets the statistics instead of the running tensors; or NULL */
    int64_t channels; /* all of them, as the layout of `batch` needs */
    double count;     /* elements per channel */
    double momentum, eps;
    const int64_t *batches; /* the momentum is 1 / (*batches + 1); NULL: `momentum` counts */
    bool training;
} statistics_args;

ADZI_ADDRESSES(statistics_args, mean, rstd, running_mean.data, running_var.data, batch, batches);

/* Turns the variance of each channel into its rstd. In training the first launch has left mean and
 * variance of x, and the running statistics move towards them. The running variance takes the
 * unbiased variance, as in PyTorch. In evaluation mean and variance are read from the running
 * statistics. Units are channels. */
static void take_statistics(const void *block, int64_t begin, int64_t end)
{
    const statistics_args *s = block;
    const bool moves =
        s->training && s->batch == NULL && s->running_mean.data != NULL && s->count > 0;
    const double momentum = s->batches != NULL ? 1 / (double)(*s->batches + 1) : s->momentum;
    if (s->batch != NULL && begin == 0) {
        s->batch[0] = s->count;
    }
    for (int64_t i = begin; i < end; ++i) {
        double m = s->training ? s->mean[i] : adzi_running_get(&s->running_mean, i);
        double v = s->training ? s->rstd[i] : adzi_running_get(&s->running_var, i);
        if (s->training && s->count == 0) {
            m = 0; /* an empty batch has no moments; any will do, as long as they are finite */
            v = 1;
        }
        const double unbiased = v * s->count / (s->count - 1);
        /* An empty batch leaves the running statistics as they are. */
        if (moves) {
            adzi_running_move(&s->running_mean, i, m, momentum);
            adzi_running_move(&s->running_var, i, unbiased, momentum);
        }
        if (s->batch != NULL) {
            s->batch[1 + i] = m;
            s->batch[1 + s->channels + i] = unbiased;
        }
        s->mean[i] = m;
        /* A variance that overflowed f64 is unknown. The result is NaN, because an rstd of 0 would
         * turn all elements into the bias. */
        s->rstd[i] = s->training && isinf(v) ? (double)NAN : 1 / sqrt(v + s->eps);
    }
}

/* Computes args->mean and args->rstd: in training one launch for the moments of x, then one for the
 * statistics. The versions of the running tensors rise, because they were written in place. They
 * rise as well if the statistics are handed out (Note [Handing statistics out]). */
static void launch_statistics(
    adz_tensor *const *in, const adzi_batch_norm_args *args, const batch_norm_call *call)
{
    const bool training = call->at.training;
    const statistics_args s = { args->mean, args->rstd, adzi_running_of(in[RUNNING_MEAN]),
        adzi_running_of(in[RUNNING_VAR]), call->numbers.batch, args->c,
        (double)args->n * (double)args->l, call->at.momentum, call->at.eps, call->numbers.batches,
        training };
    if (training) {
        adzi_launch(KERNEL_FOR(batch_norm_moments, in[X]->dtype), adzi_batch_norm_args, args,
            args->c, adzi_grain_of(GRAIN, args->n * args->l));
    }
    adzi_launch(take_statistics, statistics_args, &s, args->c, GRAIN);
    if (training && s.running_mean.data != NULL && s.count > 0) {
        adzi_written(in[RUNNING_MEAN], "batch_norm");
        adzi_written(in[RUNNING_VAR], "batch_norm");
    }
}

/* Tells a trace and a capture that the running statistics will change. */
static bool report_changes(const adzi_call *call)
{
    adzi_tracer *tracer = call->thread->tracer;
    bool good = true;
    for (int i = RUNNING_MEAN; i <= RUNNING_VAR && good; ++i) {
        if (adzi_is_none(call->in[i])) {
            continue;
        }
        adzi_capture_changes(call->in[i]);
        good = tracer == NULL || tracer->change(tracer, call->in[i], call->op->name);
    }
    return good;
}

/* The node keeps the statistics. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    const batch_norm_call *c = block;
    y[1] = adzi_scratch("batch_norm", ADZ_F64, 2, (int64_t[]){ 2, in[X]->sizes[1] });
    return y[1] != NULL && (!c->at.training || report_changes(call));
}

static void save(adzi_call *call, adz_tensor *const *y, const void *block)
{
    const batch_norm_call *c = block;
    (void)y;
    adzi_save_input(call, X);
    adzi_save_input(call, WEIGHT);
    if (!c->at.training && call->thread->tracer != NULL) {
        adzi_save_input(call, RUNNING_MEAN);
        adzi_save_input(call, RUNNING_VAR);
    }
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    adzi_batch_norm_args args = args_of(in[X], y[1]);
    args.weight = adzi_is_none(in[WEIGHT]) ? NULL : in[WEIGHT]->data;
    args.bias = adzi_is_none(in[BIAS]) ? NULL : in[BIAS]->data;
    args.out = y[0]->data;
    launch_statistics(in, &args, block);
    adzi_launch(KERNEL_FOR(batch_norm, y[0]->dtype), adzi_batch_norm_args, &args, rows_of(&args),
        row_grain(&args));
}

/* Computes all calls. */
static adz_tensor *batch_norm(const adzi_batch_norm_inputs *in, batch_norm_call *call)
{
    static const adzi_steps steps = {
        .check = check, .prepare = prepare, .save = save, .launch = launch, .n_kept = 1
    };
    adz_tensor *x = in->x, *running_mean = in->running_mean, *running_var = in->running_var;
    adz_tensor *weight = in->weight, *bias = in->bias;
    return ADZI_RUN_STEPS(
        &adzi_op_batch_norm, steps, call, x, running_mean, running_var, weight, bias);
}

/* In training the running statistics, if given, move by `momentum`. */
adz_tensor *adz_batch_norm(adz_tensor *x, adz_tensor *running_mean, adz_tensor *running_var,
    adz_tensor *weight, adz_tensor *bias, bool training, double momentum, double eps)
{
    const adzi_batch_norm_inputs in = { x, running_mean, running_var, weight, bias };
    batch_norm_call call = { .at = { .training = training, .momentum = momentum, .eps = eps } };
    if (training && adzi_trace_is_step() && !adzi_is_none(running_mean)) {
        return adzi_batch_norm_traced(&in, momentum, eps);
    }
    return batch_norm(&in, &call);
}

/* The running statistics become the mean over all batches so far: momentum 1 / (count + 1),
 * PyTorch's momentum=None. The launch computes the momentum. That of the attributes is 0, which
 * says that it is no fixed number. */
adz_tensor *adzi_batch_norm_cumulative(
    const adzi_batch_norm_inputs *in, const adz_tensor *count, double eps)
{
    batch_norm_call call = { .at = { .training = true, .eps = eps },
        .numbers = { .batches = (const int64_t *)(const void *)count->data } };
    return batch_norm(in, &call);
}

adz_tensor *adzi_batch_norm_hand_out(const adzi_batch_norm_inputs *in, double *batch, double eps)
{
    batch_norm_call call = { .at = { .training = true, .eps = eps },
        .numbers = { .batch = batch } };
    return batch_norm(in, &call);
}
