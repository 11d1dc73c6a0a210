/* Forward derivatives of a solution by the graph of one step at a time. They go where no formula
 * for tangents stands: through the Jacobians of ADZ_ODE_RODAS4, by times, and to the hits of
 * events. The memory is that of the graph of one step. */
#include <string.h>

#include "autograd/engine.h"
#include "solvers/ode_forward.h"

/* What one step gives: states at times, hits, and last the state after it. */
typedef struct step {
    adz_tensor **outputs; /* room for all results */
    adz_tensor **u;      /* upstream gradients of those that want one, by which is differentiated */
    adz_tensor **slopes; /* derivatives of these, by `u` */
    int64_t *at;         /* where an output stands among the results; -1: the state */
    size_t n, n_u;
} step;

typedef struct recorded {
    adzi_ode_tangents *s;
    step step;
    int64_t size;          /* elements of a state, or of its differences */
    double *before, *next; /* [m, size], tangents of the state */
} recorded;

/* ---- the outputs of a step ------------------------------------------------------------------- */

int64_t adzi_tangents_place(const adzi_ode *ode, int event, int64_t index, bool state)
{
    const int64_t n = ode->like->numel;
    int64_t at = ode->n_times * n;
    for (int i = 0; i < event; ++i) {
        at += adzi_ode_hits_of(ode, i) * (1 + n);
    }
    return state ? at + adzi_ode_hits_of(ode, event) + index * n : at + index;
}

static void add_output(recorded *r, adz_tensor *y, int64_t at)
{
    r->step.outputs[r->step.n] = y;
    r->step.at[r->step.n++] = at;
}

static bool collect_hits(recorded *r, const adzi_ode_span *span, const adzi_ode_move *move)
{
    const adzi_ode *ode = &r->s->ode;
    for (int64_t i = adzi_ode_first_hit(ode, span->k); i < ode->n_hits; ++i) {
        const adzi_ode_hit *hit = &ode->hits[i];
        adz_tensor *found[2];
        if (hit->step != span->k) {
            break;
        }
        if (!adzi_ode_at_hit(ode, hit, span, move, found)) {
            return false;
        }
        for (int k = 0; k < 2; ++k) {
            add_output(r, found[k], adzi_tangents_place(ode, hit->event, hit->index, k == 1));
        }
    }
    return true;
}

/* Step k from `state`, with its graph, and what it gives. */
static bool record_step(recorded *r, int64_t k, adz_tensor *state, int64_t *next)
{
    adzi_ode_tangents *s = r->s;
    const adzi_ode *ode = &s->ode;
    adzi_ode_span span;
    adzi_ode_move move = { .first = NULL };
    adz_tensor *states[2];
    int64_t first = *next;
    s->targets[0] = adzi_equation_leaf(state);
    if (s->targets[0] == NULL || !adzi_ode_span_of(ode, k, &span) ||
        !adzi_ode_step(ode, &span, s->targets[0], &move)) {
        return false;
    }
    const int count = adzi_ode_states(ode, &span, &move, next, states);
    r->step.n = 0;
    for (int i = 0; i < count; ++i) {
        add_output(r, states[i], first * s->n);
        first += states[i]->sizes[0];
    }
    if (count < 0 || !collect_hits(r, &span, &move)) {
        return false;
    }
    add_output(r, move.state, -1);
    return adzi_ode_knows_leaves(ode->e.op, move.state, s->targets, s->n_targets, s->node, NULL);
}

/* ---- products -------------------------------------------------------------------------------- */

/* The gradients of the outputs for upstream gradients of zeros, by which they are differentiated.
 */
static bool prepare_products(recorded *r)
{
    adzi_ode_tangents *s = r->s;
    step *st = &r->step;
    size_t count = 0;
    for (size_t i = 0; i < st->n; ++i) {
        if (!adzi_requires_grad(st->outputs[i])) {
            continue; /* its tangent is 0 */
        }
        st->outputs[count] = st->outputs[i];
        st->at[count] = st->at[i];
        st->u[count] = adz_zeros_like(adz_detach(st->outputs[i]));
        if (st->u[count] == NULL) {
            return false;
        }
        st->u[count]->requires_grad = st->u[count]->is_zero = true;
        ++count;
    }
    st->n_u = count;
    for (size_t k = 0; k < s->n_targets; ++k) {
        s->found[k] = ADZ_NONE;
    }
    return count == 0 || adzi_autograd_grad_forward(st->outputs, st->u, count, s->targets,
                             s->n_targets, s->m, s->found) == ADZ_OK;
}

/* The tangents of the targets, for tangent j, without those on which no output depends. Returns how
 * many there are, or -1. */
static int64_t take_tangents(recorded *r, int64_t j, adz_tensor **outputs)
{
    adzi_ode_tangents *s = r->s;
    const double *from = s->w + j * s->p;
    int64_t count = 0;
    for (size_t k = 0; k < s->n_targets; ++k) {
        const double *elements = k == 0 ? r->before + j * r->size : from;
        from += k == 0 ? 0 : s->targets[k]->numel;
        if (adzi_is_none(s->found[k]) || !adzi_requires_grad(s->found[k])) {
            continue;
        }
        outputs[count] = s->found[k];
        s->tangent[count] = adzi_tangents_tensor(s->ode.e.op, s->targets[k], elements);
        if (s->tangent[count++] == NULL) {
            return -1;
        }
    }
    return count;
}

/* Writes the derivatives of the outputs for tangent j. */
static bool write_slopes(recorded *r, int64_t j)
{
    const adzi_ode_tangents *s = r->s;
    for (size_t i = 0; i < r->step.n_u; ++i) {
        const adz_tensor *from =
            adzi_is_none(r->step.slopes[i]) ? NULL : adzi_compact(s->ode.e.op, r->step.slopes[i]);
        const int64_t at = r->step.at[i], n = r->step.u[i]->numel;
        double *to = at < 0 ? r->next + j * r->size : s->out + j * s->length + at;
        if (from == NULL && !adzi_is_none(r->step.slopes[i])) {
            return false;
        }
        for (int64_t e = 0; e < n; ++e) {
            to[e] = from != NULL ? adzi_ode_element(from, e) : 0;
        }
    }
    return true;
}

static bool multiply(recorded *r, int64_t j)
{
    adzi_ode_tangents *s = r->s;
    adz_tensor **outputs = s->tangent + s->n_targets;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = o.allow_unused = true;
    for (size_t i = 0; i < r->step.n_u; ++i) {
        r->step.slopes[i] = ADZ_NONE;
    }
    const int64_t count = take_tangents(r, j, outputs);
    return count >= 0 &&
           (count == 0 || r->step.n_u == 0 ||
               adz_autograd_grad(outputs, s->tangent, (size_t)count, r->step.u, r->step.n_u, &o,
                   r->step.slopes) == ADZ_OK) &&
           write_slopes(r, j);
}

/* ---- all steps ------------------------------------------------------------------------------- */

static bool take_step(recorded *r, int64_t k, adz_tensor **state, int64_t *next)
{
    adzi_ode_tangents *s = r->s;
    const size_t here = adzi_self()->n_temporaries;
    const bool before = adz_set_grad_enabled(true);
    bool good = record_step(r, k, *state, next);
    adz_set_grad_enabled(before);
    adz_tensor *after = good ? adz_detach(r->step.outputs[r->step.n - 1]) : NULL;
    good = after != NULL && prepare_products(r);
    memset(r->next, 0, (size_t)(s->m * r->size) * sizeof(double));
    for (int64_t j = 0; j < s->m && good; ++j) {
        const size_t mark = adzi_self()->n_temporaries;
        good = multiply(r, j);
        adzi_scope_unwind(adzi_self(), mark);
    }
    double *const spare = r->before;
    r->before = r->next;
    r->next = spare;
    *state = after;
    return good && adzi_survive(s->ode.e.op, here, state, 1);
}

/* Memory, and the tangents of the first state. */
static bool prepare(recorded *r, const adz_tensor *state)
{
    adzi_ode_tangents *s = r->s;
    const char *op = s->ode.e.op;
    const int64_t most = s->ode.n_times + 2 * s->ode.n_hits + 1;
    const int64_t numbers = 2 * s->m * state->numel;
    const int64_t bytes = most * (int64_t)(3 * sizeof(adz_tensor *) + sizeof(int64_t));
    adz_tensor *memory = adzi_scratch(op, ADZ_U8, 1, &bytes);
    adz_tensor *tangents = adz_zeros(ADZ_SHAPE(numbers), ADZ_F64);
    if (memory == NULL || tangents == NULL) {
        return false;
    }
    r->step.outputs = (adz_tensor **)(void *)memory->data;
    r->step.u = r->step.outputs + most;
    r->step.slopes = r->step.u + most;
    r->step.at = (int64_t *)(void *)(r->step.slopes + most);
    r->size = state->numel;
    r->before = (double *)(void *)tangents->data;
    r->next = r->before + s->m * r->size;
    for (int64_t j = 0; j < s->m; ++j) { /* of differences, only the first ones are not 0 */
        memcpy(r->before + j * r->size, s->y + j * s->n, (size_t)s->n * sizeof(double));
    }
    return true;
}

bool adzi_tangents_recorded(adzi_ode_tangents *s)
{
    recorded r = { .s = s };
    int64_t next = 1;
    adz_tensor *state = adzi_ode_state_of(&s->ode, (adz_tensor *)s->ode.like);
    s->ode.graph = true;
    s->ode.chords = 1;
    bool good = state != NULL && prepare(&r, state);
    for (int64_t k = 0; k < s->ode.n_steps && good; ++k) {
        good = take_step(&r, k, &state, &next);
    }
    return good;
}
