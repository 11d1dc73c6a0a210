/* The gradient of a solution. The node keeps the graph of its steps if that is small (Note [Kept
 * graphs] in ode_graph.c), and some of the states between steps. Without the graph its backward
 * goes through the steps from the last one to the first: it computes the states between two kept
 * ones again, and then each step with its own graph, which ends with the step. A backward that gets
 * a graph records all steps at once. */
#include <math.h>
#include <string.h>

#include "autograd/run.h"
#include "solvers/ode_bdf.h"
#include "solvers/ode_forward.h"
#include "base/alloc.h"

/* A running backward. */
typedef struct vjp {
    adzi_ode ode;
    const adzi_ode_context *context;
    adzi_node *node;
    adz_tensor *y0, *times, *const *dy; /* times: the program's */
    adz_tensor **targets;               /* a state, and then the inputs that need a gradient */
    adz_tensor **grads;                 /* of the targets */
    adz_tensor **sums;                  /* over the steps, of the targets from 1 on; or NULL */
    int *positions;                     /* of the targets among the inputs */
    size_t n;                           /* targets */
    bool create_graph;                  /* the gradients get a graph */
    adz_tensor **outputs, **upstream;   /* of the running step, or of all; room for all results */
    adz_tensor *dstate; /* the gradient of the state after the running step; or NULL */
} vjp;

/* ---- gradients ------------------------------------------------------------------------------- */

/* The gradients of the first n outputs by the targets from `first` on. False if there is an error.
 */
static bool add_vjp(vjp *p, size_t n, size_t first)
{
    size_t count = 0;
    for (size_t i = 0; i < n; ++i) {
        if (p->upstream[i] != NULL && adzi_requires_grad(p->outputs[i])) {
            p->outputs[count] = p->outputs[i];
            p->upstream[count++] = p->upstream[i];
        }
    }
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = p->create_graph;
    o.retain_graph = o.allow_unused = true; /* the function may use tensors with older graphs */
    for (size_t i = first; i < p->n; ++i) {
        p->grads[i] = ADZ_NONE;
    }
    return count == 0 || first == p->n ||
           adz_autograd_grad(p->outputs, p->upstream, count, p->targets + first, p->n - first, &o,
               p->grads + first) == ADZ_OK;
}

static bool check_leaves(const vjp *p, adz_tensor *y)
{
    return adzi_ode_knows_leaves(p->ode.e.op, y, p->targets, p->n, p->node, &p->context->graph);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* The first time that lies in step k, if `after` is the first one after the step. */
static int64_t first_time(const adzi_ode *ode, int64_t k, int64_t after)
{
    if (ode->fixed) {
        return (k + 1) % ode->o.steps == 0 ? (k + 1) / ode->o.steps : after;
    }
    while (after > 1 && ode->at[after - 1] > ode->ends[k]) {
        --after;
    }
    return after;
}

/* The upstream gradients of the outputs from `begin` to `end`, which hold states at times from
 * `first` on. */
static bool slice_upstream(vjp *p, size_t begin, size_t end, int64_t first)
{
    for (size_t i = begin; i < end; ++i) {
        const int64_t m = p->outputs[i]->sizes[0];
        if (p->dy[0] == NULL) {
            p->upstream[i] = NULL;
            continue;
        }
        p->upstream[i] = adz_narrow(p->dy[0], 0, first, m);
        if (p->upstream[i] == NULL) {
            return false;
        }
        first += m;
    }
    return true;
}

/* The upstream gradients of the time and the state of a hit. */
static bool select_upstream(const vjp *p, const adzi_ode_hit *hit, adz_tensor **upstream)
{
    for (int i = 0; i < 2; ++i) {
        adz_tensor *dy = p->dy[1 + 2 * hit->event + i];
        upstream[i] = dy != NULL ? adz_select(dy, 0, hit->index) : NULL;
        if (dy != NULL && upstream[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* The hits in a step, and their upstream gradients, behind *n outputs. */
static bool collect_hits(vjp *p, const adzi_ode_span *span, const adzi_ode_move *move, size_t *n)
{
    const adzi_ode *ode = &p->ode;
    for (int64_t i = adzi_ode_first_hit(ode, span->k); i < ode->n_hits; ++i, *n += 2) {
        const adzi_ode_hit *hit = &ode->hits[i];
        if (hit->step != span->k) {
            break;
        }
        if (!select_upstream(p, hit, p->upstream + *n)) {
            return false;
        }
        if (p->upstream[*n] == NULL && p->upstream[*n + 1] == NULL) {
            p->outputs[*n] = p->outputs[*n + 1] = ADZ_NONE;
        } else if (!adzi_ode_at_hit(ode, hit, span, move, p->outputs + *n)) {
            return false;
        }
    }
    return true;
}

/* What a step gives, and its upstream gradients. */
static bool collect(
    vjp *p, const adzi_ode_span *span, const adzi_ode_move *move, int64_t first, size_t *n)
{
    const int count = adzi_ode_states(&p->ode, span, move, &(int64_t){ first }, p->outputs);
    *n = count > 0 ? (size_t)count : 0;
    if (count < 0 || !slice_upstream(p, 0, *n, first) || !collect_hits(p, span, move, n)) {
        return false;
    }
    if (p->dstate != NULL) {
        p->outputs[*n] = move->state;
        p->upstream[(*n)++] = p->dstate;
    }
    return true;
}

/* Step k from the state y: p->dstate becomes the gradient of y, and the sums grow. */
static bool vjp_step(vjp *p, int64_t k, adz_tensor *y, int64_t first)
{
    adzi_ode *ode = &p->ode;
    adzi_ode_span span;
    adzi_ode_move move = { .first = NULL };
    size_t n;
    const bool before = adz_set_grad_enabled(true);
    ode->graph = true;
    ode->chords = 1;
    p->targets[0] = adzi_equation_leaf(y);
    bool good = p->targets[0] != NULL && adzi_ode_span_of(ode, k, &span) &&
                adzi_ode_step(ode, &span, p->targets[0], &move) &&
                collect(p, &span, &move, first, &n);
    adz_set_grad_enabled(before);
    ode->graph = false;
    if (!good || !check_leaves(p, move.state) || !add_vjp(p, n, 0)) {
        return false;
    }
    p->dstate = adzi_is_none(p->grads[0]) ? NULL : p->grads[0];
    for (size_t i = 1; i < p->n; ++i) {
        adz_tensor *g = p->grads[i];
        if (!adzi_is_none(g)) {
            p->sums[i] = p->sums[i] != NULL ? adz_add(p->sums[i], g) : g;
            good = good && p->sums[i] != NULL;
        }
    }
    return good;
}

static bool survive(vjp *p, size_t mark)
{
    p->sums[0] = p->dstate; /* targets[0] is a state, which has no sum */
    return adzi_survive(p->ode.e.op, mark, p->sums, p->n);
}

/* The steps from `from` to `to`, from the last to the first. `states` has room for them. */
static bool vjp_segment(vjp *p, int64_t from, int64_t to, adz_tensor **states, int64_t *after)
{
    adzi_ode *ode = &p->ode;
    adz_tensor *kept = adzi_saved_extra(p->node, ADZI_ODE_STATES);
    const size_t mark = adzi_self()->n_temporaries;
    states[0] = kept != NULL ? adz_clone(adz_select(kept, 0, from / p->context->stride)) : NULL;
    for (int64_t k = from; k + 1 < to && states[k - from] != NULL; ++k) {
        const size_t here = adzi_self()->n_temporaries;
        adzi_ode_span span;
        adzi_ode_move move = { .first = NULL };
        if (!adzi_ode_span_of(ode, k, &span) ||
            !adzi_ode_step(ode, &span, states[k - from], &move) ||
            !adzi_survive(ode->e.op, here, &move.state, 1)) {
            return false;
        }
        states[k + 1 - from] = move.state;
    }
    if (states[0] == NULL) {
        return false;
    }
    const size_t here = adzi_self()->n_temporaries;
    for (int64_t k = to - 1; k >= from; --k) {
        const int64_t first = first_time(ode, k, *after);
        if (!vjp_step(p, k, states[k - from], first) || !survive(p, here)) {
            return false;
        }
        *after = first;
    }
    return survive(p, mark);
}

/* Adds the gradient of the first state of the result, which is y0. */
static bool add_first(vjp *p)
{
    if (p->dy[0] == NULL) {
        return true;
    }
    adz_tensor *first = adz_select(p->dy[0], 0, 0);
    p->dstate = p->dstate != NULL ? adz_add(p->dstate, first) : first;
    return p->dstate != NULL;
}

/* Makes the gradient of the first state that of y0. */
static bool leave_state(vjp *p)
{
    if (p->ode.o.method == ADZ_ODE_BDF && p->dstate != NULL) {
        p->dstate = adzi_bdf_value(p->y0, adz_select(p->dstate, 0, 0));
        return p->dstate != NULL;
    }
    return true;
}

static bool vjp_steps(vjp *p)
{
    const int64_t stride = p->context->stride, n = p->ode.n_steps;
    const int64_t bytes[] = { stride * (int64_t)sizeof(adz_tensor *) };
    adz_tensor *memory = adzi_scratch(p->ode.e.op, ADZ_U8, 1, bytes);
    int64_t after = p->ode.n_times;
    if (memory == NULL) {
        return false;
    }
    const bool before = adz_set_grad_enabled(false);
    bool good = true;
    for (int64_t from = (n - 1) / stride * stride; from >= 0 && good; from -= stride) {
        const int64_t to = from + stride < n ? from + stride : n;
        good = vjp_segment(p, from, to, (adz_tensor **)(void *)memory->data, &after);
    }
    good = good && leave_state(p);
    adz_set_grad_enabled(before);
    return good && add_first(p);
}

/* One pass through the graph of the first run, which ends afterwards unless it is retained. */
static bool vjp_kept(vjp *p)
{
    adzi_ode_context *r = *(adzi_ode_context **)p->node->attr;
    const adzi_ode_graph *g = &r->graph;
    const bool from_y0 = adzi_requires_grad(g->y0);
    for (size_t i = 1; i < p->n; ++i) {
        const int k = p->positions[i] - ADZI_ODE_FIRST_ARGUMENT;
        p->targets[i] = k >= 0 && (size_t)k < p->ode.e.n ? g->arguments[k] : p->targets[i];
    }
    p->targets[0] = g->y0;
    memcpy(p->outputs, g->states, g->n * sizeof *p->outputs);
    if (!check_leaves(p, g->states[g->n - 1]) || !slice_upstream(p, 0, g->n, 1) ||
        !add_vjp(p, g->n, from_y0 ? 0 : 1)) {
        return false;
    }
    p->dstate = from_y0 && !adzi_is_none(p->grads[0]) ? p->grads[0] : NULL;
    for (size_t i = 1; i < p->n; ++i) {
        p->sums[i] = adzi_is_none(p->grads[i]) ? NULL : p->grads[i];
    }
    if (!p->node->entry->run->keep_graph) {
        adzi_ode_graph_free(&r->graph);
    }
    return add_first(p);
}

/* ---- all steps at once ----------------------------------------------------------------------- */

/* All results, and their upstream gradients. */
static bool replay(vjp *p, adz_tensor *y, size_t *n)
{
    const adzi_ode *ode = &p->ode;
    const size_t hits = (size_t)ode->n_times; /* behind at most so many states */
    if (!adzi_ode_replay(ode, y, p->outputs + 1, n, p->outputs + hits)) {
        return false;
    }
    *n += 1; /* the first state */
    p->upstream[0] = p->dy[0] != NULL ? adz_select(p->dy[0], 0, 0) : NULL;
    if ((p->dy[0] != NULL && p->upstream[0] == NULL) || !slice_upstream(p, 1, *n, 1)) {
        return false;
    }
    for (int64_t i = 0; i < ode->n_hits; ++i, *n += 2) {
        p->outputs[*n] = p->outputs[hits + 2 * (size_t)i];
        p->outputs[*n + 1] = p->outputs[hits + 2 * (size_t)i + 1];
        if (!select_upstream(p, &ode->hits[i], p->upstream + *n)) {
            return false;
        }
    }
    return true;
}

static bool vjp_graph(vjp *p)
{
    size_t n;
    adz_tensor *y = adzi_equation_stand_in(p->y0, true);
    p->ode.graph = true;
    p->ode.chords = 3;
    p->targets[0] = p->outputs[0] = y;
    if (y == NULL || !replay(p, y, &n)) {
        return false;
    }
    adzi_cuts cuts = { .n = 0 };
    bool good = adzi_cuts_add(&cuts, y) && adzi_cuts_add(&cuts, p->times);
    for (size_t i = 0; i < p->ode.e.n && good; ++i) {
        good = adzi_cuts_add(&cuts, p->ode.e.arguments[i]);
    }
    /* A target must want a gradient, which y0 may not. */
    good = good && add_vjp(p, n, adzi_requires_grad(y) ? 0 : 1);
    adzi_cuts_mend(&cuts);
    if (!good) {
        return false;
    }
    p->dstate = adzi_requires_grad(y) && !adzi_is_none(p->grads[0]) ? p->grads[0] : NULL;
    for (size_t i = 1; i < p->n; ++i) {
        p->sums[i] = adzi_is_none(p->grads[i]) ? NULL : p->grads[i];
    }
    return true;
}

/* ---- the backward ---------------------------------------------------------------------------- */

static bool take_inputs(vjp *p)
{
    adzi_node *node = p->node;
    p->n = 1;
    for (int i = 0; i < node->n_inputs; ++i) {
        adz_tensor *t = adzi_saved_input(node, i);
        const bool leaf = (size_t)i >= ADZI_ODE_FIRST_ARGUMENT + p->ode.e.n;
        if (t != NULL && i > 0 && !leaf) {
            t = adzi_needs(node, i) || p->create_graph ? adzi_equation_stand_in(t, p->create_graph)
                                                       : adz_detach(t);
        }
        if (t == NULL) {
            return false;
        }
        if (i == 0) {
            p->y0 = t;
            p->ode.like = t;
            continue;
        }
        if (i == 1) {
            const bool before = adz_set_grad_enabled(true);
            p->times = t;
            p->ode.times = adzi_ode_time_of(&p->ode, t);
            p->ode.by_tensors = adzi_requires_grad(t);
            adz_set_grad_enabled(before);
        } else if (!leaf) {
            p->ode.e.arguments[i - ADZI_ODE_FIRST_ARGUMENT] = t;
        }
        if (p->ode.times == NULL) {
            return false;
        }
        if (adzi_needs(node, i)) {
            p->positions[p->n] = i;
            p->targets[p->n++] = t;
        }
    }
    return true;
}

adz_status adzi_ode_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_ode_context *r = *(adzi_ode_context *const *)node->attr;
    if (adzi_ode_goes_forward(node, dy)) {
        return adzi_ode_forward(node, dx, dy);
    }
    const size_t inputs = (size_t)node->n_inputs + 1;
    const size_t states = (size_t)(r->ode.n_times + 2 * r->ode.n_hits) + 3;
    const int64_t bytes[] = { (
        int64_t)((3 * inputs + 2 * states) * sizeof(adz_tensor *) + inputs * sizeof(int)) };
    adz_tensor *memory = adzi_scratch(r->ode.e.op, ADZ_U8, 1, bytes);
    if (memory == NULL) {
        return adzi_status(NULL);
    }
    memset(memory->data, 0, (size_t)bytes[0]);
    vjp p = { .ode = r->ode, .context = r, .node = node, .dy = dy };
    p.targets = (adz_tensor **)(void *)memory->data;
    p.grads = p.targets + inputs;
    p.sums = p.grads + inputs;
    p.outputs = p.sums + inputs;
    p.upstream = p.outputs + states;
    p.positions = (int *)(void *)(p.upstream + states);
    p.create_graph = adz_is_grad_enabled();
    bool (*const run)(vjp * p) = p.create_graph ? vjp_graph : r->graph.n > 0 ? vjp_kept : vjp_steps;
    if (!take_inputs(&p) || !run(&p)) {
        return adzi_status(NULL);
    }
    dx[0] = adzi_needs(node, 0) ? p.dstate : NULL;
    for (size_t i = 1; i < p.n; ++i) {
        dx[p.positions[i]] = p.sums[i];
    }
    return ADZ_OK;
}
