/* The graph of the first run, which is kept for the backward if it is small. */
#include <string.h>

#include "solvers/ode_run.h"
#include "base/alloc.h"

/* Note [Kept graphs]
 *
 * A first run records its steps if a gradient may be asked for and the graph is small. The graph
 * begins in leaves that stand for the state and the arguments, so it does not lead out of the
 * solution. The backward then needs one pass through it and computes no step again.
 *
 * The bytes of the graph are counted behind the first step, and all steps count the same. So
 * whether a graph is kept depends on shapes, on the function and on the number of steps, but not on
 * what else the program holds. Once there are too many steps, the rest is computed without a graph,
 * and the backward goes through the steps from the kept states.
 *
 * The elements of a solution do not depend on whether its steps are recorded. */

/* ---- the first run --------------------------------------------------------------------------- */

/* Whether the form of the solution allows it. A stiff method would record Jacobians. */
static bool may_record(const adzi_ode *ode)
{
    const bool stiff = ode->o.method == ADZ_ODE_RODAS4 || ode->o.method == ADZ_ODE_BDF;
    return ode->o.graph_bytes > 0 && !stiff && ode->n_events == 0;
}

bool adzi_ode_graph_begin(adzi_ode_run *run, const adz_tensor *y0, adz_tensor *const *arguments)
{
    adzi_ode *ode = run->ode;
    run->records = run->kept != NULL && may_record(ode);
    run->most_steps = INT64_MAX;
    if (!run->records) {
        return true;
    }
    run->y = adzi_requires_grad(y0) ? adzi_equation_leaf(run->y) : run->y;
    run->graph.y0 = run->state = run->y;
    for (size_t i = 0; i < ode->e.n; ++i) {
        ode->e.arguments[i] = adzi_equation_stand_in(arguments[i], false);
        if (ode->e.arguments[i] == NULL) {
            return false;
        }
    }
    memcpy(run->graph.arguments, ode->e.arguments, sizeof ode->e.arguments);
    return run->y != NULL;
}

bool adzi_ode_run_step(adzi_ode_run *run, const adzi_ode_span *span, adzi_ode_move *move)
{
    adz_set_grad_enabled(run->records);
    const bool good = adzi_ode_step(run->ode, span, run->y, move);
    adz_set_grad_enabled(false);
    return good;
}

/* Goes on without a graph. */
static bool give_up(adzi_ode_run *run, adzi_ode_move *move)
{
    run->records = false;
    adzi_ode_leaves_records_no_more(run->ode);
    run->graph.n = run->n_fresh = 0;
    move->y1 = move->state = adz_detach(move->y1);
    move->last = move->last != NULL ? adz_detach(move->last) : NULL;
    return move->y1 != NULL;
}

/* Room for the states of one more step. */
static bool reserve(adzi_ode_run *run)
{
    const int64_t bytes = (int64_t)((run->graph.n + 2) * sizeof(adz_tensor *));
    const int64_t has = run->list != NULL ? run->list->numel : 0, wants = 2 * bytes;
    if (bytes <= has) {
        return true;
    }
    adz_tensor *list = adzi_scratch(run->ode->e.op, ADZ_U8, 1, &wants);
    if (list == NULL) {
        return false;
    }
    if (run->graph.n > 0) {
        memcpy(list->data, run->graph.states, run->graph.n * sizeof(adz_tensor *));
    }
    run->list = list;
    run->graph.states = (adz_tensor **)(void *)list->data;
    return true;
}

bool adzi_ode_graph_take(adzi_ode_run *run, adzi_ode_move *move)
{
    const adzi_ode *ode = run->ode;
    if (!run->records || ode->report.steps == 0) {
        return true;
    }
    if (run->most_steps == INT64_MAX) {
        const int64_t bytes = adzi_graph_bytes(move->y1);
        if (bytes < 0) {
            return false;
        }
        run->most_steps = ode->o.graph_bytes / (bytes > 0 ? bytes : 1);
    }
    if ((ode->fixed ? ode->n_steps : ode->report.steps) > run->most_steps) {
        return give_up(run, move);
    }
    if (!reserve(run)) {
        return false;
    }
    memcpy(run->graph.states + run->graph.n, run->fresh, run->n_fresh * sizeof *run->fresh);
    run->graph.n += run->n_fresh;
    return true;
}

/* ---- the node -------------------------------------------------------------------------------- */

bool adzi_ode_graph_copy(adzi_ode_graph *copy, const adzi_ode *ode, const adzi_ode_graph *graph)
{
    *copy = (adzi_ode_graph){ .n = 0 };
    if (graph->n == 0) {
        return true;
    }
    copy->states = adzi_alloc(graph->n * sizeof *copy->states);
    if (copy->states == NULL) {
        return adzi_fail_memory(ode->e.op, graph->n * sizeof *copy->states) != NULL;
    }
    copy->y0 = adzi_retain(graph->y0);
    for (size_t i = 0; i < ode->e.n; ++i) {
        copy->arguments[i] = adzi_retain(graph->arguments[i]);
    }
    for (copy->n = 0; copy->n < graph->n; ++copy->n) {
        copy->states[copy->n] = adzi_retain(graph->states[copy->n]);
    }
    return true;
}

void adzi_ode_graph_free(adzi_ode_graph *graph)
{
    if (graph->n == 0) {
        return;
    }
    for (size_t i = 0; i < graph->n; ++i) {
        adzi_drop(graph->states[i]);
    }
    for (size_t i = 0; i < ADZ_SOLVER_ARGUMENTS; ++i) {
        adzi_drop(graph->arguments[i]);
    }
    adzi_drop(graph->y0);
    adzi_free(graph->states, graph->n * sizeof *graph->states);
    *graph = (adzi_ode_graph){ .n = 0 };
}
