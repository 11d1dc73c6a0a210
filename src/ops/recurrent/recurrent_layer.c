#include "ops/recurrent/recurrent_layer.h"

#include <string.h>

#include "ops/recurrent/recurrent_run.h"
#include "base/alloc.h"

/* Shapes, the node and the fused backward of recurrent layers. recurrent_run.c computes.
 *
 * The node saves the inputs and y, and what its cell says: the gates of every step, and the cells
 * of an LSTM. So the fused backward computes no forward again. */

/* ---- forward as an expression --------------------------------------------------------------- */

bool adzi_recurrent_split(
    adz_tensor *all, const adzi_recurrent_attr *attr, size_t n, adz_tensor **gate)
{
    const int64_t h = attr->h, sizes[] = { h, h, h, h };
    return all != NULL && adz_split_sizes(all, sizes, n, 1, gate) == ADZ_OK;
}

/* Step t in time. s->y holds the part of x of its gates, [1, B, G H], and becomes y_t, [1, B, H]. A
 * row whose sequence is shorter keeps its states, and its y_t is 0. */
static void step(const adzi_recurrent_cell *cell, adz_tensor *const *in,
    const adzi_recurrent_attr *at, int64_t t, adzi_recurrent_states *s)
{
    adz_tensor *const *w = in + 1 + cell->states;
    const adzi_recurrent_states before = *s;
    adz_tensor *of_x = adz_squeeze(s->y, 0);
    adz_tensor *of_h = adz_linear(s->h, w[WEIGHT_HH], w[BIAS_HH]);
    cell->step(of_x, of_h, s, at);
    s->y = s->h;
    if (at->ragged) {
        adz_tensor *skipped = adz_unsqueeze(adz_le_number(w[LENGTHS], (double)t), 1);
        s->h = adz_where(skipped, before.h, s->h);
        s->c = cell->states == 2 ? adz_where(skipped, before.c, s->c) : NULL;
        s->y = adz_masked_fill(s->h, skipped, 0);
    }
    s->y = adz_unsqueeze(s->y, 0);
}

/* The whole layer as operators, from which derivatives of any order are derived. `steps` has T
 * elements. */
static adzi_recurrent_states unrolled(const adzi_recurrent_cell *cell, adz_tensor *const *in,
    const adzi_recurrent_attr *at, adz_tensor **steps)
{
    const adzi_recurrent_states none = { NULL, NULL, NULL };
    adzi_recurrent_states s = { NULL, in[H0], cell->states == 2 ? in[C0] : NULL };
    adz_tensor *const *w = in + 1 + cell->states;
    size_t count = 0;
    adz_tensor *gates = adz_linear(in[X], w[WEIGHT_IH], w[BIAS_IH]);
    if (adz_split(gates, 1, 0, steps, (size_t)at->t, &count) != ADZ_OK) {
        return none;
    }
    for (int64_t i = 0, before; i < at->t; ++i) {
        const int64_t t = adzi_recurrent_position(at, i, &before);
        s.y = steps[t];
        step(cell, in, at, t, &s);
        steps[t] = s.y;
        if (s.y == NULL) {
            return none;
        }
    }
    s.y = adz_cat(steps, (size_t)at->t, 0);
    return s.y != NULL ? s : none;
}

/* The forward with a list of its own for the steps. */
static adzi_recurrent_states unroll(
    const adzi_recurrent_cell *cell, adz_tensor *const *in, const adzi_recurrent_attr *at)
{
    const size_t bytes = (size_t)at->t * sizeof(adz_tensor *);
    adz_tensor **steps = adzi_alloc(bytes);
    if (steps == NULL) {
        adzi_fail_memory(cell->op->name, bytes);
        return (adzi_recurrent_states){ NULL, NULL, NULL };
    }
    const adzi_recurrent_states out = unrolled(cell, in, at, steps);
    adzi_free(steps, bytes);
    return out;
}

adz_status adzi_recurrent_expression(const adzi_recurrent_cell *cell, adz_tensor **y,
    adz_tensor *const *in, const adzi_recurrent_attr *attr)
{
    const adzi_recurrent_states out = unroll(cell, in, attr);
    y[0] = out.y;
    y[1] = out.h;
    if (cell->states == 2) {
        y[2] = out.c;
    }
    return adzi_status(out.y);
}

/* ---- backward through time ----------------------------------------------------------------- */

/* Reads what the node has saved. */
static bool gather_saved(adzi_node *node, adzi_recurrent_run *v)
{
    const adzi_recurrent_cell *cell = v->cell;
    v->y = adzi_saved_result(node, 0);
    v->gates = v->y == NULL ? NULL : cell->saves_gates ? adzi_saved_extra(node, 0) : v->y;
    v->cells = v->gates == NULL ? NULL : cell->states == 2 ? adzi_saved_extra(node, 1) : v->gates;
    if (v->cells == NULL) {
        return false;
    }
    for (int i = 0; i < INPUTS_OF(cell); ++i) {
        const bool bias = i == 1 + cell->states + BIAS_IH || i == 1 + cell->states + BIAS_HH;
        if (bias || adzi_recurrent_left_out(cell, v->at, i)) {
            continue;
        }
        adz_tensor *saved = adzi_saved_input(node, i);
        v->in[i] = saved != NULL ? adzi_compact(cell->op->name, saved) : NULL;
        if (v->in[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Room for the derivatives of the gates and of the states, and for what steps hand on. */
static bool make_room_back(adzi_recurrent_run *v, adz_tensor *const *dy)
{
    const adzi_recurrent_attr *at = v->at;
    const char *name = v->cell->op->name;
    const adz_dtype dtype = (adz_dtype)v->y->dtype;
    const int64_t state[] = { at->b, at->h }, wide = v->cell->saved * at->h;
    v->dy = dy[0] != NULL ? adzi_compact(name, dy[0]) : ADZ_NONE;
    v->dgates = adzi_scratch(name, dtype, 3, (int64_t[]){ at->t, at->b, wide });
    v->firsts = at->ragged && at->reverse ? adzi_scratch(name, dtype, 2, (int64_t[]){ at->b, wide })
                                          : ADZ_NONE;
    v->sums = adzi_scratch(name, dtype, 1, &wide);
    v->panels = adzi_recurrent_panels(v->cell, at, dtype);
    v->dh = adzi_scratch(name, dtype, 2, state);
    v->dc = v->cell->states == 2 ? adzi_scratch(name, dtype, 2, state) : v->dh;
    bool good = v->dy != NULL && v->dgates != NULL && v->firsts != NULL && v->sums != NULL &&
                v->panels != NULL && v->dh != NULL && v->dc != NULL;
    for (int i = 0; i < 2 && good; ++i) {
        v->packed[i] = adzi_scratch(name, dtype, 2, (int64_t[]){ at->b, v->cell->gates * at->h });
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

adz_status adzi_recurrent_fused(
    const adzi_recurrent_cell *cell, adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adzi_recurrent_run v = { .cell = cell, .at = adzi_attr(node, adzi_recurrent_attr) };
    if (!gather_saved(node, &v) || !make_room_back(&v, dy)) {
        return adzi_status(NULL);
    }
    for (int i = 0; i < INPUTS_OF(cell); ++i) {
        adz_shape shape = adzi_input_shape(node, i);
        if (adzi_needs(node, i) && (i < H0 || i > cell->states)) {
            dx[i] = adzi_scratch(cell->op->name, (adz_dtype)v.y->dtype, shape.rank, shape.sizes);
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    start(v.dh, dy[1]);
    if (cell->states == 2) {
        start(v.dc, dy[2]);
        dx[C0] = v.dc;
    }
    adzi_recurrent_run_backward(&v, dx);
    dx[H0] = v.dh;
    return ADZ_OK;
}

/* ---- forward ------------------------------------------------------------------------------- */

static bool has_sizes(const adz_tensor *t, int rank, int64_t a, int64_t b)
{
    return adzi_is_none(t) ||
           (t->rank == rank && t->sizes[0] == a && (rank < 2 || t->sizes[1] == b));
}

/* Checks shapes and dtypes, and fills in the sizes. */
static bool check(const adzi_call *call, const adzi_recurrent_cell *cell, adzi_recurrent_attr *at)
{
    const char *name = cell->op->name;
    adz_tensor *const *in = call->in, *const *w = in + 1 + cell->states;
    const adz_tensor *x = in[X];
    const int64_t gates = cell->gates;
    bool fits = x->rank == 3 && x->sizes[0] > 0 && in[H0]->rank == 2;
    if (fits) {
        at->t = x->sizes[0];
        at->b = x->sizes[1];
        at->in = x->sizes[2];
        at->h = in[H0]->sizes[1];
        fits = has_sizes(in[H0], 2, at->b, at->h) &&
               (cell->states == 1 || has_sizes(in[C0], 2, at->b, at->h)) &&
               has_sizes(w[WEIGHT_IH], 2, gates * at->h, at->in) &&
               has_sizes(w[WEIGHT_HH], 2, gates * at->h, at->h) &&
               has_sizes(w[BIAS_IH], 1, gates * at->h, 0) &&
               has_sizes(w[BIAS_HH], 1, gates * at->h, 0) && has_sizes(w[LENGTHS], 1, at->b, 0);
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x%s, h0%s, weight_ih%s, weight_hh%s and the others do not fit [T, B, I], states [B, H], [%dH, I] and [%dH, H], T at least 1, biases [%dH], lengths [B]",
            adzi_text_shape(x), adzi_text_shape(in[H0]), adzi_text_shape(w[WEIGHT_IH]),
            adzi_text_shape(w[WEIGHT_HH]), (int)gates, (int)gates, (int)gates);
        return false;
    }
    for (int i = 1; i < INPUTS_OF(cell); ++i) {
        const adz_dtype wanted = in + i == w + LENGTHS ? ADZ_I64 : (adz_dtype)x->dtype;
        if (!adzi_is_none(in[i]) && (adz_dtype)in[i]->dtype != wanted) {
            adzi_error(name, ADZ_ERR_DTYPE, "input %d is %s, but must be %s", i,
                adz_dtype_name((adz_dtype)in[i]->dtype), adz_dtype_name(wanted));
            return false;
        }
    }
    return true;
}

/* Memory of the forward: what is saved in addition to y, and what is temporary. */
static bool make_room(adzi_recurrent_run *v, adz_dtype dtype)
{
    const adzi_recurrent_attr *at = v->at;
    const char *name = v->cell->op->name;
    const int64_t states[] = { at->t, at->b, at->h };
    v->gates = v->cell->saves_gates ? adzi_scratch(name, dtype, 3,
                                          (int64_t[]){ at->t, at->b, v->cell->saved * at->h })
                                    : ADZ_NONE;
    v->cells = v->cell->states == 2 ? adzi_scratch(name, dtype, 3, states) : ADZ_NONE;
    v->panels = adzi_recurrent_panels(v->cell, at, dtype);
    bool good = v->gates != NULL && v->cells != NULL && v->panels != NULL;
    for (int i = 0; i < 2 && good; ++i) {
        v->packed[i] = adzi_scratch(name, dtype, 2, states + 1);
        good = v->packed[i] != NULL;
    }
    return good;
}

/* Makes the results, records the call and computes. */
static bool compute(adzi_call *call, adzi_recurrent_run *v, adz_tensor **y)
{
    const adzi_recurrent_cell *cell = v->cell;
    const int results = 1 + cell->states, extras = (int)cell->saves_gates + cell->states - 1;
    const int64_t sizes[] = { v->at->t, v->at->b, v->at->h };
    const adz_dtype dtype = (adz_dtype)v->in[X]->dtype;
    for (int k = 0; k < results; ++k) {
        y[k] = adzi_new(call, dtype, k == 0 ? 3 : 2, k == 0 ? sizes : sizes + 1);
        if (y[k] == NULL) {
            return false;
        }
    }
    if (!adzi_record_extra(call, results, y, extras, v->at, sizeof *v->at)) {
        return false;
    }
    for (int i = 0; i < INPUTS_OF(cell); ++i) {
        adzi_save_input(call, i);
    }
    adzi_save_result(call, 0, y[0]);
    if (cell->saves_gates) {
        adzi_save_extra(call, 0, v->gates);
    }
    if (cell->states == 2) {
        adzi_save_extra(call, 1, v->cells);
    }
    v->y = y[0];
    v->gates = cell->saves_gates ? v->gates : v->y;
    adzi_recurrent_run_forward(v, y);
    bool good = true;
    for (int k = 0; k < results; ++k) {
        good = adzi_leave(call, y[k]) != NULL && good;
    }
    return good;
}

/* The call is written out, because how many inputs and results it has, and what they are called,
 * depends on the cell. In the form these are constants. */
adzi_recurrent_states adzi_recurrent_layer(
    const adzi_recurrent_cell *cell, const adzi_recurrent_input *input)
{
    const adzi_recurrent_states none = { NULL, NULL, NULL };
    const adzi_recurrent_weights *w = &input->w;
    adz_tensor *in[ADZI_CALL_INPUTS] = { input->x, input->h0 }, *y[3] = { NULL };
    adz_tensor *rest[] = { w->ih, w->hh, w->bias_ih, w->bias_hh, input->lengths };
    in[C0] = input->c0; /* overwritten by the weights of a layer without it */
    memcpy(in + 1 + cell->states, rest, sizeof rest);
    adzi_recurrent_attr at = { .reverse = input->reverse,
        .relu = input->relu,
        .biased = { w->bias_ih != ADZ_NONE, w->bias_hh != ADZ_NONE },
        .ragged = input->lengths != ADZ_NONE };
    adzi_recurrent_run v = { .cell = cell, .at = &at };
    adzi_call call;
    const char *names = cell->states == 2
                            ? "x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, lengths"
                            : "x, h0, weight_ih, weight_hh, bias_ih, bias_hh, lengths";
    if (!adzi_enter(&call, cell->op, names, in, INPUTS_OF(cell),
            ADZI_OPTIONAL_FROM(1 + cell->states + BIAS_IH)) ||
        !adzi_want_float(&call, X) || !check(&call, cell, &at)) {
        return none;
    }
    for (int i = 0; i < INPUTS_OF(cell); ++i) {
        v.in[i] = adzi_compact(cell->op->name, call.in[i]);
        if (v.in[i] == NULL) {
            return none;
        }
    }
    if (!make_room(&v, (adz_dtype)v.in[X]->dtype) || !compute(&call, &v, y)) {
        return none;
    }
    return (adzi_recurrent_states){ y[0], y[1], y[2] };
}
