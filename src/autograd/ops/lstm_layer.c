#include "autograd/ops/lstm_layer.h"

#include <string.h>

#include "autograd/ops/sum.h"
#include "tensor/gemm.h"

KERNEL_TABLE_FLOAT(lstm_cell);
KERNEL_TABLE_FLOAT(lstm_cell_backward);

static const char name[] = "lstm_layer";

enum { GATES, H0, C0, WEIGHT, BIAS, INPUTS };
enum { GRAIN = 2048 }; /* cells worth a thread */

typedef struct {
    bool reverse, biased;
    int64_t t, b, h;
} lstm_attr;

/* Place t of step s, and where the state before it stands: place `before`, or -1 for h0, c0. */
static int64_t place_of(const lstm_attr *at, int64_t s, int64_t *before)
{
    int64_t t = at->reverse ? at->t - 1 - s : s;
    *before = s == 0 ? -1 : at->reverse ? t + 1 : t - 1;
    return t;
}

/* Row t of a contiguous [T, ...]. */
static char *row(const adz_tensor *t, int64_t at)
{
    return t->data + at * (t->numel / t->sizes[0]) * (int64_t)adzi_item_size(t);
}

static int64_t grain_of(int64_t h)
{
    return h < GRAIN ? GRAIN / (h > 0 ? h : 1) : 1;
}

/* ---- backward as an expression ------------------------------------------------------------- */

/* One step on [B, 4H]: the operators that the kernels stand for. */
static void step(
    adz_tensor *gates, adz_tensor **h, adz_tensor **c, adz_tensor *weight, adz_tensor *bias)
{
    adz_tensor *gate[4] = { NULL };
    adz_tensor *sums = adz_add(gates, adz_linear(*h, weight, bias));
    int64_t n = sums != NULL ? sums->sizes[1] / 4 : 0;
    if (sums == NULL || adz_split_sizes(sums, (int64_t[]){ n, n, n, n }, 4, 1, gate) != ADZ_OK) {
        *h = *c = NULL;
        return;
    }
    adz_tensor *kept = adz_mul(adz_sigmoid(gate[1]), *c);
    *c = adz_add(kept, adz_mul(adz_sigmoid(gate[0]), adz_tanh(gate[2])));
    *h = adz_mul(adz_sigmoid(gate[3]), adz_tanh(*c));
}

/* The whole layer out of such steps; `steps` has room for T tensors. */
static adzi_lstm_states unrolled(adz_tensor *const *in, const lstm_attr *at, adz_tensor **steps)
{
    adzi_lstm_states out = { NULL, in[H0], in[C0] };
    size_t count = 0;
    if (adz_split(in[GATES], 1, 0, steps, (size_t)at->t, &count) != ADZ_OK) {
        return (adzi_lstm_states){ NULL, NULL, NULL };
    }
    for (int64_t s = 0, before; s < at->t; ++s) {
        int64_t t = place_of(at, s, &before);
        step(adz_squeeze(steps[t], 0), &out.h, &out.c, in[WEIGHT], in[BIAS]);
        steps[t] = adz_unsqueeze(out.h, 0);
        if (steps[t] == NULL) {
            return (adzi_lstm_states){ NULL, NULL, NULL };
        }
    }
    out.y = adz_cat(steps, (size_t)at->t, 0);
    return out;
}

/* Differentiates the unrolled layer. Its inputs are copies, so that a path from one input to
 * another, outside the layer, does not count here. */
static adz_status differentiate(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, adz_tensor **steps)
{
    const lstm_attr *at = adzi_attr(node, lstm_attr);
    adz_tensor *in[INPUTS], *wanted[INPUTS], *found[INPUTS], *ys[3], *gradients[3];
    size_t n = 0, n_y = 0;
    for (int i = 0; i < INPUTS; ++i) {
        if (i == BIAS && !at->biased) {
            in[i] = ADZ_NONE;
            continue;
        }
        adz_tensor *saved = adzi_saved_input(node, i);
        in[i] = adzi_needs(node, i) ? adz_clone(saved) : adz_detach(saved);
        if (in[i] == NULL) {
            return adzi_status(NULL);
        }
        if (adzi_needs(node, i)) {
            wanted[n++] = in[i];
        }
    }
    adzi_lstm_states out = unrolled(in, at, steps);
    if (out.y == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor *results[3] = { out.y, out.h, out.c };
    for (int k = 0; k < 3; ++k) {
        if (dy[k] != NULL) {
            ys[n_y] = results[k];
            gradients[n_y++] = dy[k];
        }
    }
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.create_graph = true;
    options.allow_unused = true;
    adz_status status = adz_autograd_grad(ys, gradients, n_y, wanted, found, n, &options);
    for (int i = 0, k = 0; i < INPUTS && status == ADZ_OK; ++i) {
        if (in[i] != ADZ_NONE && adzi_needs(node, i)) {
            dx[i] = found[k] == ADZ_NONE ? NULL : found[k];
            ++k;
        }
    }
    return status;
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    size_t bytes = (size_t)adzi_attr(node, lstm_attr)->t * sizeof(adz_tensor *);
    adz_tensor **steps = adzi_alloc(bytes);
    if (steps == NULL) {
        adzi_fail_memory(name, bytes);
        return ADZ_ERR_MEMORY;
    }
    adz_status status = differentiate(node, dx, dy, steps);
    adzi_free(steps, bytes);
    return status;
}

/* ---- backward through time ----------------------------------------------------------------- */

/* What the fused backward reads and writes; all contiguous. */
typedef struct {
    adz_tensor *gates, *cells, *y, *h0, *c0, *weight, *dy;
    adz_tensor *dgates, *dh, *dc, *dweight;
} tensors;

static bool gather(adzi_node *node, tensors *v, adz_tensor *const *dy)
{
    const lstm_attr *at = adzi_attr(node, lstm_attr);
    v->gates = adzi_saved_extra(node, 0);
    v->cells = v->gates != NULL ? adzi_saved_extra(node, 1) : NULL;
    v->y = v->cells != NULL ? adzi_saved_result(node, 0) : NULL;
    adz_tensor **const inputs[] = { &v->h0, &v->c0, &v->weight };
    for (int i = 0; i < 3 && v->y != NULL; ++i) {
        adz_tensor *saved = adzi_saved_input(node, H0 + i);
        *inputs[i] = saved != NULL ? adzi_compact(name, saved) : NULL;
        if (*inputs[i] == NULL) {
            return false;
        }
    }
    if (v->y == NULL) {
        return false;
    }
    v->dy = dy[0] != NULL ? adzi_compact(name, dy[0]) : ADZ_NONE;
    v->dgates = adzi_scratch_like(name, v->gates);
    v->dh = adzi_scratch(name, (adz_dtype)v->y->dtype, 2, (int64_t[]){ at->b, at->h });
    v->dc = v->dh != NULL ? adzi_scratch_like(name, v->dh) : NULL;
    v->dweight = adzi_needs(node, WEIGHT) ? adzi_scratch_like(name, v->weight) : ADZ_NONE;
    return v->dy != NULL && v->dgates != NULL && v->dc != NULL && v->dweight != NULL;
}

static void start(adz_tensor *state, adz_tensor *given)
{
    if (given != NULL) {
        adzi_copy(state, given);
    } else {
        adzi_fill(state, 0);
    }
}

/* From the last step to the first: dgates of each, and dh, dc of the state before it. */
static void walk_back(const tensors *v, const lstm_attr *at)
{
    adz_dtype dtype = (adz_dtype)v->y->dtype;
    for (int64_t s = at->t - 1, before; s >= 0; --s) {
        int64_t t = place_of(at, s, &before);
        adzi_lstm_cell_args args = { .gates = row(v->gates, t),
            .c_before = before < 0 ? v->c0->data : row(v->cells, before),
            .c = row(v->cells, t),
            .dy = adzi_is_none(v->dy) ? NULL : row(v->dy, t),
            .dh = v->dh->data,
            .dc = v->dc->data,
            .dgates = row(v->dgates, t),
            .hidden = at->h };
        adzi_launch(KERNEL_FOR(lstm_cell_backward, dtype), &args, at->b, grain_of(at->h));
        adzi_gemm(dtype, false, false, at->b, at->h, 4 * at->h, 1, args.dgates, 4 * at->h,
            v->weight->data, at->h, 0, v->dh->data, at->h);
    }
}

/* dW = sum over the steps of dgates^T h, h the state before the step: one product for the first
 * step, whose h is h0, and one for all others, whose h are neighbours in y. */
static void weight_gradient(const tensors *v, const lstm_attr *at)
{
    adz_dtype dtype = (adz_dtype)v->y->dtype;
    int64_t before, first = place_of(at, 0, &before), h = at->h;
    adzi_gemm(dtype, true, false, 4 * h, h, at->b, 1, row(v->dgates, first), 4 * h, v->h0->data, h,
        0, v->dweight->data, h);
    if (at->t > 1) {
        adzi_gemm(dtype, true, false, 4 * h, h, (at->t - 1) * at->b, 1,
            row(v->dgates, at->reverse ? 0 : 1), 4 * h, row(v->y, at->reverse ? 1 : 0), h, 1,
            v->dweight->data, h);
    }
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const lstm_attr *at = adzi_attr(node, lstm_attr);
    tensors v;
    if (!gather(node, &v, dy)) {
        return adzi_status(NULL);
    }
    int64_t gates = 4 * at->h;
    if (adzi_needs(node, BIAS)) {
        dx[BIAS] = adzi_scratch(name, (adz_dtype)v.y->dtype, 1, &gates);
        if (dx[BIAS] == NULL) {
            return adzi_status(NULL);
        }
    }
    start(v.dh, dy[1]);
    start(v.dc, dy[2]);
    walk_back(&v, at);
    dx[GATES] = v.dgates;
    dx[H0] = v.dh;
    dx[C0] = v.dc;
    if (adzi_needs(node, WEIGHT)) {
        weight_gradient(&v, at);
        dx[WEIGHT] = v.dweight;
    }
    if (adzi_needs(node, BIAS)) {
        adzi_sum_rows(dx[BIAS], v.dgates, at->t * at->b);
    }
    return ADZ_OK;
}

const adzi_op adzi_op_lstm_layer = { .name = name, .backward = backward, .fused = fused };

/* ---- forward ------------------------------------------------------------------------------- */

static bool has_sizes(const adz_tensor *t, int rank, int64_t a, int64_t b)
{
    return t->rank == rank && t->sizes[0] == a && (rank < 2 || t->sizes[1] == b);
}

static bool check(const adzi_call *call, lstm_attr *at)
{
    adz_tensor *const *in = call->in;
    const adz_tensor *gates = in[GATES];
    bool fits = gates->rank == 3 && gates->sizes[0] > 0 && in[H0]->rank == 2;
    if (fits) {
        at->t = gates->sizes[0];
        at->b = gates->sizes[1];
        at->h = in[H0]->sizes[1];
        fits = gates->sizes[2] == 4 * at->h && has_sizes(in[H0], 2, at->b, at->h) &&
               has_sizes(in[C0], 2, at->b, at->h) && has_sizes(in[WEIGHT], 2, 4 * at->h, at->h) &&
               (adzi_is_none(in[BIAS]) || has_sizes(in[BIAS], 1, 4 * at->h, 0));
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "gates%s, h0%s, c0%s and weight%s do not fit [T, B, 4H], [B, H], [B, H] and [4H, H], "
            "T at least 1",
            adzi_text_shape(gates), adzi_text_shape(in[H0]), adzi_text_shape(in[C0]),
            adzi_text_shape(in[WEIGHT]));
        return false;
    }
    for (int i = 1; i < INPUTS; ++i) {
        if (!adzi_is_none(in[i]) && in[i]->dtype != gates->dtype) {
            adzi_error(name, ADZ_ERR_DTYPE, "input %d is %s, but the first is %s", i,
                adz_dtype_name((adz_dtype)in[i]->dtype), adz_dtype_name((adz_dtype)gates->dtype));
            return false;
        }
    }
    return true;
}

static void run(const lstm_attr *at, adz_tensor *const *in, const adzi_lstm_states *out,
    adz_tensor *gates, adz_tensor *cells)
{
    adz_dtype dtype = (adz_dtype)gates->dtype;
    int64_t h = at->h, last = 0;
    adzi_copy(gates, in[GATES]);
    for (int64_t s = 0, before; s < at->t; ++s) {
        last = place_of(at, s, &before);
        adzi_lstm_cell_args args = { .gates = row(gates, last),
            .bias = adzi_is_none(in[BIAS]) ? NULL : in[BIAS]->data,
            .c_before = before < 0 ? in[C0]->data : row(cells, before),
            .c = row(cells, last),
            .h = row(out->y, last),
            .hidden = h };
        const void *state = before < 0 ? in[H0]->data : row(out->y, before);
        adzi_gemm(dtype, false, true, at->b, 4 * h, h, 1, state, h, in[WEIGHT]->data, h, 1,
            args.gates, 4 * h);
        adzi_launch(KERNEL_FOR(lstm_cell, dtype), &args, at->b, grain_of(h));
    }
    size_t bytes = (size_t)out->h->numel * adzi_item_size(out->h);
    memcpy(out->h->data, row(out->y, last), bytes);
    memcpy(out->c->data, row(cells, last), bytes);
}

adzi_lstm_states adzi_lstm_layer(adz_tensor *gates, adz_tensor *h0, adz_tensor *c0,
    adz_tensor *weight, adz_tensor *bias, bool reverse)
{
    const adzi_lstm_states none = { NULL, NULL, NULL };
    adzi_call call;
    lstm_attr at = { .reverse = reverse };
    if (!ADZI_ENTER_OPTIONAL(&call, lstm_layer, 1u << BIAS, gates, h0, c0, weight, bias) ||
        !adzi_want_float(&call, GATES) || !check(&call, &at)) {
        return none;
    }
    at.biased = !adzi_is_none(bias);
    adz_tensor *in[INPUTS];
    for (int i = 0; i < INPUTS; ++i) {
        in[i] = i == GATES ? gates : adzi_compact(name, call.in[i]);
        if (in[i] == NULL) {
            return none;
        }
    }
    adz_tensor *sums = adzi_scratch_like(name, gates);
    adz_tensor *cells =
        adzi_scratch(name, (adz_dtype)gates->dtype, 3, (int64_t[]){ at.t, at.b, at.h });
    if (sums == NULL || cells == NULL) {
        return none;
    }
    adz_tensor *y[3] = { adzi_new_like(&call, cells), adzi_new_like(&call, in[H0]),
        adzi_new_like(&call, in[H0]) };
    if (y[0] == NULL || y[1] == NULL || y[2] == NULL ||
        (call.record && !adzi_record_extra(&call, 3, y, 2, &at, sizeof at))) {
        return none;
    }
    for (int i = 0; i < INPUTS; ++i) {
        adzi_save_input(&call, i);
    }
    adzi_save_result(&call, 0, y[0]);
    adzi_save_extra(&call, 0, sums);
    adzi_save_extra(&call, 1, cells);
    adzi_lstm_states out = { y[0], y[1], y[2] };
    run(&at, in, &out, sums, cells);
    if (adzi_leave(&call, out.y) == NULL || adzi_leave(&call, out.h) == NULL ||
        adzi_leave(&call, out.c) == NULL) {
        return none;
    }
    return out;
}
