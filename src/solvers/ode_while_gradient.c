/* What a while loop of steps needs for a gradient, and its node on the tape: Note [Gradients of
 * while loops of steps] in ode_while_backward.c. */
#include <string.h>

#include "base/alloc.h"
#include "base/threads/marks.h"
#include "ops/op.h"
#include "solvers/ode_node.h"
#include "solvers/ode_run.h"
#include "solvers/ode_while_gradient.h"

enum { MOST_KEPT = 1 << 28 }; /* elements of all states */

/* ---- before the loop ------------------------------------------------------------------------- */

/* A slope and a step, which are recorded and never computed. */
typedef struct trial {
    adzi_ode ode;
    adz_tensor *y, *slope;
    int64_t bytes; /* of the graph of the step */
} trial;

static bool try_once(const adzi_ode *ode, adz_tensor *y0, bool mirrored, trial *t)
{
    *t = (trial){ .ode = *ode };
    adzi_ode *one = &t->ode;
    one->sign = NULL;
    one->mirrored = mirrored;
    t->y = adz_detach(y0);
    t->y = t->y != NULL && adzi_requires_grad(y0) ? adzi_equation_leaf(t->y) : t->y;
    const adzi_ode_span span = { .t = adz_select(ode->times, 0, 0), .from = 0, .length = 1 };
    bool good = t->y != NULL && span.t != NULL;
    for (size_t i = 0; i < ode->e.n && good; ++i) {
        one->e.arguments[i] = adzi_equation_stand_in(ode->e.arguments[i], false);
        good = one->e.arguments[i] != NULL;
    }
    t->slope = good ? adzi_ode_slope(one, span.t, t->y) : NULL;
    if (t->slope == NULL || one->o.method == ADZ_ODE_RODAS4) {
        return t->slope != NULL;
    }
    adzi_ode_move move = { .first = t->slope };
    t->bytes = adzi_ode_step(one, &span, t->y, &move) ? adzi_graph_bytes(move.y1) : -1;
    return t->bytes >= 0;
}

/* How many steps may have a graph that is kept. */
static int64_t most_of(const trial *t)
{
    const bool kept = t->ode.o.method != ADZ_ODE_RODAS4;
    return kept ? t->ode.o.graph_bytes / (t->bytes > 0 ? t->bytes : 1) : 0;
}

/* Which arguments and other leaves the slope depends on. All that was made after `mark` ends. */
static bool take_leaves(const trial *t, size_t mark, adzi_ode_graded *g)
{
    const char *op = t->ode.e.op;
    adzi_leaves all = { NULL, 0, 0 };
    bool good = adzi_leaves_add(&all, op, t->slope, NULL, 0);
    const int64_t bytes = (int64_t)((all.count + 1) * sizeof(adz_tensor *));
    adz_tensor *memory = good ? adzi_scratch(op, ADZ_U8, 1, &bytes) : NULL;
    if (memory != NULL) {
        adz_tensor **list = (adz_tensor **)(void *)memory->data;
        list[0] = memory;
        g->leaves = list + 1;
        for (size_t i = 0; i < all.count; ++i) {
            bool is_own = all.items[i] == t->y;
            for (size_t k = 0; k < t->ode.e.n; ++k) {
                const bool is_argument = all.items[i] == t->ode.e.arguments[k];
                g->used[k] = g->used[k] || is_argument;
                is_own = is_own || is_argument;
            }
            if (!is_own) {
                g->leaves[g->n_leaves++] = all.items[i];
            }
        }
        good = adzi_survive(op, mark, list, g->n_leaves + 1);
    }
    adzi_leaves_free(&all);
    return good && memory != NULL;
}

static bool probe(const adzi_ode *ode, adz_tensor *y0, adzi_ode_graded *g)
{
    adzi_thread *thread = adzi_self();
    const size_t mark = thread->n_temporaries;
    trial ways[2];
    adzi_add_mark(ADZI_MARK_PROBE, NULL, 0);
    const bool skipped = adzi_capture_skips(true);
    bool good = try_once(ode, y0, true, &ways[1]) && try_once(ode, y0, false, &ways[0]);
    if (good) {
        g->wants = adzi_requires_grad(ways[0].slope) || adzi_requires_grad(y0) ||
                   adzi_requires_grad(ode->times);
        g->most[0] = most_of(&ways[0]);
        g->most[1] = most_of(&ways[1]);
    }
    if (good && g->wants) {
        good = take_leaves(&ways[0], mark, g);
    } else {
        adzi_scope_unwind(thread, mark);
    }
    adzi_capture_skips(skipped);
    adzi_add_mark(ADZI_MARK_PROBED, NULL, 0);
    return good;
}

/* Whether a solution of this form has a gradient in a plan. */
static bool check(const adzi_ode *ode, const adz_tensor *y0)
{
    const char *op = ode->e.op;
    const double elements = (double)ode->o.max_steps * (double)y0->numel;
    if (adzi_requires_grad(ode->times)) {
        adzi_error(op, ADZ_ERR_STATE,
            "a solution with error control has no gradient in a plan by its times; set steps, or call %s outside of the plan, or without gradients (ADZ_NO_GRAD)",
            op);
        return false;
    }
    if (elements > MOST_KEPT) {
        adzi_error(op, ADZ_ERR_STATE,
            "the gradient of a solution with error control in a plan needs room for the states of max_steps, %lld, steps; with a state of %s at most %lld steps are possible: lower max_steps",
            (long long)ode->o.max_steps, adzi_text_shape(y0), (long long)(MOST_KEPT / y0->numel));
        return false;
    }
    return true;
}

bool adzi_ode_graded_begin(const adzi_ode *ode, adz_tensor *y0, adzi_ode_graded *g)
{
    *g = (adzi_ode_graded){ .wants = false };
    if (!adzi_self()->grad_enabled) {
        return true;
    }
    if (!probe(ode, y0, g) || (g->wants && !check(ode, y0))) {
        return false;
    }
    if (!g->wants) {
        return true;
    }
    return adzi_ode_rows_new(ode, y0, g->most[0] > 0 || g->most[1] > 0, &g->rows);
}

/* ---- the node -------------------------------------------------------------------------------- */

static void context_free(void *attributes)
{
    adzi_free(*(adzi_ode_loop_context **)attributes, sizeof(adzi_ode_loop_context));
}

static const adzi_op loop_op = { .size = sizeof(adzi_op),
    .name = "odeint",
    .backward = adzi_ode_loop_backward,
    .attributes_free = context_free };

static adzi_ode_loop_context *context_new(const adzi_ode *ode, const adzi_ode_graded *g)
{
    adzi_ode_loop_context *r = adzi_alloc_zero(sizeof *r);
    if (r == NULL) {
        return adzi_fail_memory(ode->e.op, sizeof *r);
    }
    r->ode = *ode;
    r->ode.times = r->ode.sign = NULL;
    r->ode.like = NULL;
    r->ode.counts = NULL;
    r->ode.o.atols = NULL;
    r->slopes = g->rows.slopes != NULL;
    memcpy(r->most, g->most, sizeof r->most);
    memcpy(r->used, g->used, sizeof r->used);
    return r;
}

bool adzi_ode_graded_record(const adzi_ode *ode, const adzi_ode_graded *g, adz_tensor *y0,
    adz_tensor *count, adz_tensor *times, adz_tensor **states)
{
    adzi_call call;
    const size_t n = ADZI_ODE_FIRST_ARGUMENT + ode->e.n + g->n_leaves;
    const int64_t bytes[] = { (int64_t)(n * sizeof(adz_tensor *)) };
    adz_tensor *memory = adzi_scratch(ode->e.op, ADZ_U8, 1, bytes);
    adzi_ode_loop_context *r = memory != NULL ? context_new(ode, g) : NULL;
    if (r == NULL) {
        return false;
    }
    adz_tensor **inputs = (adz_tensor **)(void *)memory->data;
    inputs[0] = y0;
    inputs[1] = ode->times;
    memcpy(inputs + ADZI_ODE_FIRST_ARGUMENT, ode->e.arguments, ode->e.n * sizeof *inputs);
    if (g->n_leaves > 0) {
        memcpy(
            inputs + ADZI_ODE_FIRST_ARGUMENT + ode->e.n, g->leaves, g->n_leaves * sizeof *inputs);
    }
    if (!adzi_enter(&call, &loop_op, "argument", inputs, (int)n, 0) ||
        !adzi_record_extra(
            &call, 1, states, ADZI_LOOP_EXTRAS, &r, sizeof(adzi_ode_loop_context *)) ||
        call.node == NULL) {
        context_free(&r);
        return adzi_pending() == ADZ_OK;
    }
    for (int i = 0; i < (int)n; ++i) {
        adzi_save_input(&call, i);
    }
    adzi_save_extra(&call, ADZI_LOOP_STATES, g->rows.states);
    adzi_save_extra(&call, ADZI_LOOP_SPANS, g->rows.spans);
    adzi_save_extra(&call, ADZI_LOOP_COUNT, count);
    adzi_save_extra(&call, ADZI_LOOP_SIGN, ode->sign);
    adzi_save_extra(&call, ADZI_LOOP_TIMES, times);
    if (g->rows.slopes != NULL) {
        adzi_save_extra(&call, ADZI_LOOP_SLOPES, g->rows.slopes);
    }
    return adzi_leave(&call, states[0]) != NULL;
}
