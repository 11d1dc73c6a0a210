#include "autograd/ops/recurrent/lstm_layer.h"

#include <string.h>

#include "autograd/ops/reduction/sum.h"
#include "tensor/gemm/gemm.h"

/* One direction of one layer of an LSTM (Hochreiter and Schmidhuber, 1997; gates as in
 * torch.nn.LSTM).
 *
 *     i, f, g, o = x_t w_ih^T + b_ih + h_(t-1) w_hh^T + b_hh;   sigmoid of i, f, o, tanh of g
 *     c_t = f * c_(t-1) + i * g,   h_t = o * tanh(c_t),   y_t = h_t
 *     dx = dgates w_ih,  dw_ih = dgates^T x,  dw_hh = sum_t dgates_t^T h_(t-1),  db = sum of rows
 *
 * x[T, B, I], y[T, B, H]. The node saves the inputs, y, and the gates and cells of every step, so
 * the backward computes no forward again. It goes through time once for dgates[T, B, 4H]. */

KERNEL_TABLE_FLOAT(lstm_pack);
KERNEL_TABLE_FLOAT(lstm_pack_rows);
KERNEL_TABLE_FLOAT(lstm_step);
KERNEL_TABLE_FLOAT(lstm_step_back);

static const char name[] = "lstm_layer";

enum { X, H0, C0, WEIGHT_IH, WEIGHT_HH, BIAS_IH, BIAS_HH, INPUTS }; /* inputs of the node */
enum { GRAIN = 1 << 17 }; /* grain of the launches, in multiply-adds */

typedef struct {
    bool reverse, biased[2]; /* steps run from the last one; bias_ih and bias_hh are given */
    int64_t t, b, in, h;     /* T, B, I and H */
} lstm_attr;

/* The index t of step s in memory. `before` becomes the index of the state before it, or -1 for h0
 * and c0. */
static int64_t place_of(const lstm_attr *at, int64_t s, int64_t *before)
{
    int64_t t = at->reverse ? at->t - 1 - s : s;
    *before = s == 0 ? -1 : at->reverse ? t + 1 : t - 1;
    return t;
}

/* The address of matrix t[at] of a contiguous t[T, ...]. */
static char *row(const adz_tensor *t, int64_t at)
{
    return t->data + at * (t->numel / t->sizes[0]) * (int64_t)adzi_item_size(t);
}

static bool is_left_out(const lstm_attr *at, int input)
{
    return input >= BIAS_IH && !at->biased[input - BIAS_IH];
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Columns of a panel, see Note [Products of one step]. */
static int64_t columns_of(adz_dtype dtype)
{
    return ADZI_LSTM_COLUMNS / (int64_t)adz_dtype_size(dtype);
}

static int64_t panels_of(const lstm_attr *at, adz_dtype dtype)
{
    return (at->h + columns_of(dtype) - 1) / columns_of(dtype);
}

/* Memory for weight_hh in packed panels. */
static adz_tensor *room_for_panels(const lstm_attr *at, adz_dtype dtype)
{
    return adzi_scratch(
        name, dtype, 3, (int64_t[]){ panels_of(at, dtype), 4 * at->h, columns_of(dtype) });
}

static void pack_weight(const lstm_attr *at, adz_tensor *panels, adz_tensor *w, bool transposed)
{
    adz_dtype dtype = (adz_dtype)w->dtype;
    adzi_lstm_pack_args args = {
        .from = w->data, .to = panels->data, .hidden = at->h, .transposed = transposed
    };
    int64_t grain = 4 * at->h * ADZI_LSTM_COLUMNS;
    grain = grain > 0 && grain < GRAIN ? GRAIN / grain : 1;
    adzi_launch(KERNEL_FOR(lstm_pack, dtype), &args, panels_of(at, dtype), grain);
}

/* The grain of one step's launch, in panels. */
static int64_t grain_of_step(const lstm_attr *at, int64_t panels)
{
    int64_t work = 4 * at->h * at->h * at->b, each = panels > 0 ? work / panels : 0;
    return each > 0 && each < GRAIN ? GRAIN / each : 1;
}

static void launch_step(
    const lstm_attr *at, adzi_kernel kernel, adz_dtype dtype, const adzi_lstm_step_args *args)
{
    int64_t panels = panels_of(at, dtype);
    adzi_launch(kernel, args, panels, grain_of_step(at, panels));
}

/* ---- backward as an expression ------------------------------------------------------------- */

/* One step as operators, on gates [B, 4H] that hold the part of x. h and c are replaced by the new
 * states. */
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

/* The whole layer as operators, for derivatives of any order. `steps` has T elements. */
static adzi_lstm_states unrolled(adz_tensor *const *in, const lstm_attr *at, adz_tensor **steps)
{
    adzi_lstm_states out = { NULL, in[H0], in[C0] };
    size_t count = 0;
    adz_tensor *gates = adz_linear(in[X], in[WEIGHT_IH], in[BIAS_IH]);
    if (adz_split(gates, 1, 0, steps, (size_t)at->t, &count) != ADZ_OK) {
        return (adzi_lstm_states){ NULL, NULL, NULL };
    }
    for (int64_t s = 0, before; s < at->t; ++s) {
        int64_t t = place_of(at, s, &before);
        step(adz_squeeze(steps[t], 0), &out.h, &out.c, in[WEIGHT_HH], in[BIAS_HH]);
        steps[t] = adz_unsqueeze(out.h, 0);
        if (steps[t] == NULL) {
            return (adzi_lstm_states){ NULL, NULL, NULL };
        }
    }
    out.y = adz_cat(steps, (size_t)at->t, 0);
    return out;
}

/* Differentiates the layer as operators. Its inputs are clones, so that a path from one input to
 * another outside the layer does not count here. */
static adz_status differentiate(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, adz_tensor **steps)
{
    const lstm_attr *at = adzi_attr(node, lstm_attr);
    adz_tensor *in[INPUTS], *wanted[INPUTS], *found[INPUTS], *ys[3], *gradients[3];
    size_t n = 0, n_y = 0;
    for (int i = 0; i < INPUTS; ++i) {
        if (is_left_out(at, i)) {
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

/* The tensors of the fused backward; all are contiguous. */
typedef struct {
    adz_tensor *gates, *cells, *y, *in[INPUTS], *dy;   /* saved values, and the upstream gradient */
    adz_tensor *dgates, *packed[2], *panels, *dh, *dc; /* dh and dc end as those of h0 and c0 */
} tensors;

static bool gather(adzi_node *node, tensors *v, adz_tensor *const *dy)
{
    const lstm_attr *at = adzi_attr(node, lstm_attr);
    v->gates = adzi_saved_extra(node, 0);
    v->cells = v->gates != NULL ? adzi_saved_extra(node, 1) : NULL;
    v->y = v->cells != NULL ? adzi_saved_result(node, 0) : NULL;
    if (v->y == NULL) {
        return false;
    }
    for (int i = 0; i <= WEIGHT_HH; ++i) {
        adz_tensor *saved = adzi_saved_input(node, i);
        v->in[i] = saved != NULL ? adzi_compact(name, saved) : NULL;
        if (v->in[i] == NULL) {
            return false;
        }
    }
    adz_dtype dtype = (adz_dtype)v->y->dtype;
    v->dy = dy[0] != NULL ? adzi_compact(name, dy[0]) : ADZ_NONE;
    v->dgates = adzi_scratch_like(name, v->gates);
    v->panels = room_for_panels(at, dtype);
    v->dh = adzi_scratch(name, dtype, 2, (int64_t[]){ at->b, at->h });
    v->dc = adzi_scratch(name, dtype, 2, (int64_t[]){ at->b, at->h });
    bool good =
        v->dy != NULL && v->dgates != NULL && v->panels != NULL && v->dh != NULL && v->dc != NULL;
    for (int i = 0; i < 2 && good; ++i) {
        v->packed[i] = adzi_scratch(name, dtype, 2, (int64_t[]){ at->b, 4 * at->h });
        good = v->packed[i] != NULL;
    }
    return good;
}

static void start(adz_tensor *state, adz_tensor *given)
{
    if (given != NULL) {
        adzi_copy(state, given);
    } else {
        adzi_fill(state, 0);
    }
}

/* Walks the steps from the last to the first, one launch each: dgates of the step, then dh and dc
 * of the state before it. One more launch computes dh of h0. Packed dgates alternate between two
 * buffers. */
static void run_backward_steps(const tensors *v, const lstm_attr *at)
{
    adz_dtype dtype = (adz_dtype)v->y->dtype;
    adzi_lstm_step_args args = { .panels = v->panels->data,
        .dh = v->dh->data,
        .dc = v->dc->data,
        .rows = at->b,
        .hidden = at->h };
    pack_weight(at, v->panels, v->in[WEIGHT_HH], true);
    for (int64_t s = at->t - 1, before; s >= 0; --s) {
        int64_t t = place_of(at, s, &before);
        args.gates = row(v->gates, t);
        args.c_before = before < 0 ? v->in[C0]->data : row(v->cells, before);
        args.c = row(v->cells, t);
        args.dy = adzi_is_none(v->dy) ? NULL : row(v->dy, t);
        args.dgates = row(v->dgates, t);
        args.to = v->packed[s % 2]->data;
        launch_step(at, KERNEL_FOR(lstm_step_back, dtype), dtype, &args);
        args.from = args.to;
    }
    args.dgates = NULL;
    launch_step(at, KERNEL_FOR(lstm_step_back, dtype), dtype, &args);
}

/* dw_hh = sum of dgates_t^T h_(t-1) over the steps. h0 is not in y, so the first step is a product
 * of its own. All other h_(t-1) are neighbours in y and take one product. */
static void weight_gradient(const tensors *v, const lstm_attr *at, adz_tensor *dweight)
{
    adz_dtype dtype = (adz_dtype)v->y->dtype;
    int64_t before, first = place_of(at, 0, &before), h = at->h;
    adzi_gemm(dtype, true, false, 4 * h, h, at->b, 1, row(v->dgates, first), 4 * h, v->in[H0]->data,
        h, 0, dweight->data, h);
    if (at->t > 1) {
        adzi_gemm(dtype, true, false, 4 * h, h, (at->t - 1) * at->b, 1,
            row(v->dgates, at->reverse ? 0 : 1), 4 * h, row(v->y, at->reverse ? 1 : 0), h, 1,
            dweight->data, h);
    }
}

/* Computes the wanted gradients from dgates. Both biases have equal gradients, so one is copied. */
static void collect(const tensors *v, const lstm_attr *at, adz_tensor *const *dx)
{
    adz_dtype dtype = (adz_dtype)v->y->dtype;
    int64_t n = at->t * at->b, gates = 4 * at->h, in = at->in;
    if (dx[X] != NULL) {
        adzi_gemm(dtype, false, false, n, in, gates, 1, v->dgates->data, gates,
            v->in[WEIGHT_IH]->data, in, 0, dx[X]->data, in);
    }
    if (dx[WEIGHT_IH] != NULL) {
        adzi_gemm(dtype, true, false, gates, in, n, 1, v->dgates->data, gates, v->in[X]->data, in,
            0, dx[WEIGHT_IH]->data, in);
    }
    if (dx[WEIGHT_HH] != NULL) {
        weight_gradient(v, at, dx[WEIGHT_HH]);
    }
    for (int i = BIAS_IH; i <= BIAS_HH; ++i) {
        if (dx[i] != NULL && i == BIAS_HH && dx[BIAS_IH] != NULL) {
            adzi_copy(dx[i], dx[BIAS_IH]);
        } else if (dx[i] != NULL) {
            adzi_sum_rows(dx[i], v->dgates, n);
        }
    }
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const lstm_attr *at = adzi_attr(node, lstm_attr);
    tensors v;
    if (!gather(node, &v, dy)) {
        return adzi_status(NULL);
    }
    for (int i = 0; i < INPUTS; ++i) {
        adz_shape shape = adzi_input_shape(node, i);
        if (adzi_needs(node, i) && i != H0 && i != C0) {
            dx[i] = adzi_scratch(name, (adz_dtype)v.y->dtype, shape.rank, shape.sizes);
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    start(v.dh, dy[1]);
    start(v.dc, dy[2]);
    run_backward_steps(&v, at);
    collect(&v, at, dx);
    dx[H0] = v.dh;
    dx[C0] = v.dc;
    return ADZ_OK;
}

/* The forward as an expression: the steps one after the other. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const lstm_attr *at = attr;
    const size_t bytes = (size_t)at->t * sizeof(adz_tensor *);
    adz_tensor **steps = adzi_alloc(bytes);
    if (steps == NULL) {
        adzi_fail_memory(name, bytes);
        return ADZ_ERR_MEMORY;
    }
    const adzi_lstm_states out = unrolled(in, at, steps);
    adzi_free(steps, bytes);
    y[0] = out.y;
    y[1] = out.h;
    y[2] = out.c;
    return adzi_status(out.y);
}

static const adz_field fields[] = { ADZI_FIELD(lstm_attr, reverse),
    ADZI_FIELD_HIDDEN(lstm_attr, biased), ADZI_FIELD_HIDDEN(lstm_attr, t),
    ADZI_FIELD_HIDDEN(lstm_attr, b), ADZI_FIELD_HIDDEN(lstm_attr, in),
    ADZI_FIELD_HIDDEN(lstm_attr, h) };

const adzi_op adzi_op_lstm_layer = { .name = name,
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(fields),
    .expression = expression };

/* ---- forward ------------------------------------------------------------------------------- */

static bool has_sizes(const adz_tensor *t, int rank, int64_t a, int64_t b)
{
    return adzi_is_none(t) ||
           (t->rank == rank && t->sizes[0] == a && (rank < 2 || t->sizes[1] == b));
}

static bool check(const adzi_call *call, lstm_attr *at)
{
    adz_tensor *const *in = call->in;
    const adz_tensor *x = in[X];
    bool fits = x->rank == 3 && x->sizes[0] > 0 && in[H0]->rank == 2;
    if (fits) {
        at->t = x->sizes[0];
        at->b = x->sizes[1];
        at->in = x->sizes[2];
        at->h = in[H0]->sizes[1];
        fits = has_sizes(in[H0], 2, at->b, at->h) && has_sizes(in[C0], 2, at->b, at->h) &&
               has_sizes(in[WEIGHT_IH], 2, 4 * at->h, at->in) &&
               has_sizes(in[WEIGHT_HH], 2, 4 * at->h, at->h) &&
               has_sizes(in[BIAS_IH], 1, 4 * at->h, 0) && has_sizes(in[BIAS_HH], 1, 4 * at->h, 0);
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x%s, h0%s, c0%s, weight_ih%s and weight_hh%s do not fit [T, B, I], [B, H], [B, H], "
            "[4H, I] and [4H, H], T at least 1, biases [4H]",
            adzi_text_shape(x), adzi_text_shape(in[H0]), adzi_text_shape(in[C0]),
            adzi_text_shape(in[WEIGHT_IH]), adzi_text_shape(in[WEIGHT_HH]));
        return false;
    }
    for (int i = 1; i < INPUTS; ++i) {
        if (!adzi_is_none(in[i]) && in[i]->dtype != x->dtype) {
            adzi_error(name, ADZ_ERR_DTYPE, "input %d is %s, but the first is %s", i,
                adz_dtype_name((adz_dtype)in[i]->dtype), adz_dtype_name((adz_dtype)x->dtype));
            return false;
        }
    }
    return true;
}

/* Memory of the forward beside its results. gates and cells are saved; the rest is temporary. */
typedef struct {
    adz_tensor *gates, *cells, *panels, *packed[2]; /* h_(t-1) packed, in two alternating buffers */
} buffers;

static bool make_room(buffers *made, const lstm_attr *at, adz_dtype dtype)
{
    made->gates = adzi_scratch(name, dtype, 3, (int64_t[]){ at->t, at->b, 4 * at->h });
    made->cells = adzi_scratch(name, dtype, 3, (int64_t[]){ at->t, at->b, at->h });
    made->panels = room_for_panels(at, dtype);
    for (int i = 0; i < 2; ++i) {
        made->packed[i] = adzi_scratch(name, dtype, 2, (int64_t[]){ at->b, at->h });
    }
    return made->gates != NULL && made->cells != NULL && made->panels != NULL &&
           made->packed[0] != NULL && made->packed[1] != NULL;
}

/* The part of all gates that depends on x, in one product over all steps. */
static void input_product(const lstm_attr *at, adz_tensor *const *in, adz_tensor *gates)
{
    adzi_gemm_args args = { .dtype = (adz_dtype)gates->dtype,
        .tb = true,
        .m = at->t * at->b,
        .n = 4 * at->h,
        .k = at->in,
        .alpha = 1,
        .a = in[X]->data,
        .lda = at->in > 0 ? at->in : 1,
        .b = in[WEIGHT_IH]->data,
        .ldb = at->in > 0 ? at->in : 1,
        .c = gates->data,
        .ldc = at->h > 0 ? 4 * at->h : 1,
        .bias = adzi_is_none(in[BIAS_IH]) ? NULL : in[BIAS_IH]->data,
        .batch = 1 };
    adzi_gemm_run(&args);
}

/* The forward: one launch per step, which adds h_(t-1) w_hh^T to the gates and computes the
 * cell. */
static void run(
    const lstm_attr *at, adz_tensor *const *in, const adzi_lstm_states *out, const buffers *made)
{
    adz_dtype dtype = (adz_dtype)out->y->dtype;
    int64_t last = 0;
    adzi_lstm_pack_rows_args rows = {
        .from = in[H0]->data, .to = made->packed[1]->data, .rows = at->b, .width = at->h
    };
    adzi_lstm_step_args args = { .panels = made->panels->data,
        .from = rows.to,
        .bias = adzi_is_none(in[BIAS_HH]) ? NULL : in[BIAS_HH]->data,
        .rows = at->b,
        .hidden = at->h };
    input_product(at, in, made->gates);
    pack_weight(at, made->panels, in[WEIGHT_HH], false);
    adzi_launch(KERNEL_FOR(lstm_pack_rows, dtype), &rows, 1, 1);
    for (int64_t s = 0, before; s < at->t; ++s) {
        last = place_of(at, s, &before);
        args.gates = row(made->gates, last);
        args.c_before = before < 0 ? in[C0]->data : row(made->cells, before);
        args.c = row(made->cells, last);
        args.h = row(out->y, last);
        args.to = made->packed[s % 2]->data;
        launch_step(at, KERNEL_FOR(lstm_step, dtype), dtype, &args);
        args.from = args.to;
    }
    size_t bytes = (size_t)out->h->numel * adzi_item_size(out->h);
    adzi_copy_bytes_to(out->h->data, row(out->y, last), bytes);
    adzi_copy_bytes_to(out->c->data, row(made->cells, last), bytes);
}

adzi_lstm_states adzi_lstm_layer(
    adz_tensor *x, adz_tensor *h0, adz_tensor *c0, const adzi_lstm_weights *w, bool reverse)
{
    const adzi_lstm_states none = { NULL, NULL, NULL };
    static const char names[] = "x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh";
    adz_tensor *in[INPUTS] = { x, h0, c0, w->ih, w->hh, w->bias_ih, w->bias_hh };
    adzi_call call;
    lstm_attr at = { .reverse = reverse,
        .biased = { w->bias_ih != ADZ_NONE, w->bias_hh != ADZ_NONE } };
    buffers made;
    if (!adzi_enter(&call, &adzi_op_lstm_layer, names, in, INPUTS, 3u << BIAS_IH) ||
        !adzi_want_float(&call, X) || !check(&call, &at)) {
        return none;
    }
    for (int i = 0; i < INPUTS; ++i) {
        in[i] = adzi_compact(name, call.in[i]);
        if (in[i] == NULL) {
            return none;
        }
    }
    if (!make_room(&made, &at, (adz_dtype)x->dtype)) {
        return none;
    }
    adz_tensor *y[3] = { adzi_new_like(&call, made.cells), adzi_new_like(&call, in[H0]),
        adzi_new_like(&call, in[H0]) };
    if (y[0] == NULL || y[1] == NULL || y[2] == NULL ||
        !adzi_record_extra(&call, 3, y, 2, &at, sizeof at)) {
        return none;
    }
    for (int i = 0; i < INPUTS; ++i) {
        adzi_save_input(&call, i);
    }
    adzi_save_result(&call, 0, y[0]);
    adzi_save_extra(&call, 0, made.gates);
    adzi_save_extra(&call, 1, made.cells);
    adzi_lstm_states out = { y[0], y[1], y[2] };
    run(&at, in, &out, &made);
    if (adzi_leave(&call, out.y) == NULL || adzi_leave(&call, out.h) == NULL ||
        adzi_leave(&call, out.c) == NULL) {
        return none;
    }
    return out;
}
