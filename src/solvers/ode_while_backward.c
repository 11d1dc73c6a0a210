/* The gradient of a solution with error control in a plan.
 *
 * Note [Gradients of while loops of steps]
 * The loop of the solution keeps the state before each step, its first slope and where it lies, in
 * rows up to max_steps. The backward is a while loop from the last step that was accepted to the
 * first one: its body computes the step again with a graph, and carries the gradients of the state,
 * of the first slope and of what the function uses.
 *
 * An ordinary call adds these gradients in one of two orders (Note [Kept graphs] in ode_graph.c).
 * If it keeps the graph of all steps, each use in a step is added by itself, and the first slope of
 * a step is the last one of the step before. Else the sum of each step is added. Which of the two
 * it is depends on the number of steps, which a replay alone knows. So there are loops for both,
 * and those of one of them make no step.
 *
 * A gradient that an ordinary call does not have may be -0 here, which changes no bit of a sum. But
 * no -0 goes through the function: the last slope of a step has a gradient only if the next step or
 * a time within the step uses it. */
#include <string.h>

#include "adze/loops.h"
#include "autograd/run.h"
#include "solvers/ode_node.h"
#include "solvers/ode_run.h"
#include "solvers/ode_while_gradient.h"

/* The carries: the number of the step, the gradients of the state behind it and of the last slope,
 * and those of the inputs. */
enum { STEP, DSTATE, DSLOPE, SUMS };

/* The loops. The first three are for solutions whose graph an ordinary call keeps: the last step,
 * if its last slope is not used; other steps; the slope before the first step. The last loop is for
 * other solutions. */
typedef enum way { LAST, KEPT, FIRST, SUMMED, WAYS } way;

enum { MOST_OUTPUTS = 3 + ADZI_COMBINATION_TERMS }; /* of a step, besides the targets */

typedef struct loop_vjp {
    adzi_ode ode;
    adzi_node *node;
    adz_tensor *y0, *dy, *extras[ADZI_LOOP_EXTRAS];
    adzi_ode_rows rows;
    adz_tensor *fits, *loose; /* an ordinary call keeps the graph; LAST has a step */
    bool many;                /* there are times between the first and the last one */
    bool dense;               /* they may lie within a step */
    way way;
    adz_tensor **targets;             /* the n inputs that need a gradient; state and slope */
    adz_tensor **grads;               /* of the targets */
    adz_tensor **outputs, **upstream; /* of a step */
    size_t n_outputs;
    int *positions; /* of the targets among the inputs */
    size_t n;
    adz_tensor *row; /* the number of the step */
    adzi_ode_inside inside;
} loop_vjp;

static adz_tensor *goes_on(adz_tensor *const *in, void *user)
{
    const loop_vjp *p = user;
    adz_tensor *some = adz_ge_number(in[STEP], 0);
    return adz_logical_and(p->way == FIRST ? adz_logical_not(some) : some,
        p->way == LAST     ? p->loose
        : p->way == SUMMED ? adz_logical_not(p->fits)
                           : p->fits);
}

/* Adds an output of the step and its upstream gradient. */
static bool add_output(loop_vjp *p, adz_tensor *output, adz_tensor *upstream)
{
    if (output == NULL || upstream == NULL) {
        return false;
    }
    if (adzi_requires_grad(output)) {
        p->outputs[p->n_outputs] = output;
        p->upstream[p->n_outputs++] = upstream;
    }
    return true;
}

/* The states at times within the step are outputs whose gradients are those of what they are
 * computed from. `last` is the gradient that the last slope has from the next step; or NULL. */
static bool add_dense(
    loop_vjp *p, const adzi_ode_row *row, const adzi_ode_move *move, adz_tensor *last)
{
    const adzi_ode_inside *in = &p->inside;
    adz_tensor *dbase, *dx[ADZI_COMBINATION_TERMS];
    if (!p->dense) {
        return last == NULL || add_output(p, move->last, last);
    }
    if (!adzi_linear_combinations_back(
            row->length, in->weights, in->range, p->dy, &dbase, dx, in->n) ||
        !add_output(p, move->y0, dbase)) {
        return false;
    }
    for (int j = 0; j < in->n; ++j) {
        adz_tensor *k = move->k[in->columns[j]];
        adz_tensor *g = k == move->last && last != NULL ? adz_add(last, dx[j]) : dx[j];
        if (!add_output(p, k, g)) {
            return false;
        }
    }
    return true;
}

/* The gradients by the targets. Where each use is added by itself, the sums so far stand before
 * what the step adds. */
static bool differentiate(loop_vjp *p, adz_tensor *y, adz_tensor *const *in, adz_tensor **results)
{
    const bool kept = p->way != SUMMED, slope = p->way == LAST || p->way == KEPT;
    const size_t n = p->n + (slope ? 2 : 1);
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = o.allow_unused = true; /* the function may use tensors with older graphs */
    bool good = adzi_ode_knows_leaves(p->ode.e.op, y, p->targets, n, p->node, NULL);
    for (size_t i = 0; i < p->n && kept && good; ++i) {
        good = add_output(p, p->targets[i], in[SUMS + i]);
    }
    if (!good || adz_autograd_grad(p->outputs, p->upstream, p->n_outputs, p->targets, n, &o,
                     p->grads) != ADZ_OK) {
        return false;
    }
    results[STEP] = adz_add_number(in[STEP], -1);
    results[DSTATE] = p->grads[p->n];
    results[DSLOPE] = slope ? p->grads[p->n + 1] : in[DSLOPE];
    for (size_t i = 0; i < p->n && good; ++i) {
        adz_tensor *sum = in[SUMS + i], *g = p->grads[i];
        results[SUMS + i] = kept ? g : adzi_is_none(g) ? sum : adz_add(sum, g);
        good = results[SUMS + i] != NULL;
    }
    return good && results[STEP] != NULL;
}

/* Reads the row of the step, and makes leaves of its state and, where it is kept, its slope. */
static bool begin_step(loop_vjp *p, adzi_ode_row *row)
{
    const bool slope = p->way == LAST || p->way == KEPT;
    if (p->row == NULL || !adzi_ode_rows_read(&p->rows, p->row, p->y0, row)) {
        return false;
    }
    adz_tensor **own = p->targets + p->n;
    own[0] = adzi_equation_leaf(row->y);
    own[1] = slope ? adzi_equation_leaf(row->slope) : NULL;
    p->n_outputs = 0;
    return own[0] != NULL && (!slope || own[1] != NULL);
}

/* A step, whose last slope is used or not. */
static bool step_by(loop_vjp *p, bool uses_last, adz_tensor *const *in, adz_tensor **results)
{
    adzi_ode_row row;
    adzi_ode_move move = { .first = NULL };
    if (!begin_step(p, &row)) {
        return false;
    }
    const bool before = adz_set_grad_enabled(true);
    const adzi_ode_span span = {
        .t = adz_to(row.begin, (adz_dtype)p->y0->dtype), .begin = row.begin, .measure = row.length
    };
    move.first = p->targets[p->n + 1];
    bool good = span.t != NULL && adzi_ode_step(&p->ode, &span, p->targets[p->n], &move);
    adz_set_grad_enabled(before);
    adz_tensor *dstate = in[DSTATE];
    if (good && p->many) {
        dstate = adz_add(dstate, adzi_ode_rows_end(&p->inside, p->dy));
    }
    good = good && add_output(p, move.y1, dstate);
    if (good && uses_last) {
        good = add_dense(p, &row, &move, p->way == KEPT ? in[DSLOPE] : NULL);
    }
    return good && differentiate(p, move.y1, in, results);
}

static adz_status step_within(adz_tensor **results, adz_tensor *const *in, void *user)
{
    return step_by(user, true, in, results) ? ADZ_OK : adzi_status(NULL);
}

static adz_status step_without(adz_tensor **results, adz_tensor *const *in, void *user)
{
    return step_by(user, false, in, results) ? ADZ_OK : adzi_status(NULL);
}

static adz_status step_back(adz_tensor **results, adz_tensor *const *in, void *user)
{
    loop_vjp *p = user;
    p->row = in[STEP];
    if (p->many &&
        !adzi_ode_rows_inside(&p->rows, p->row, p->extras[ADZI_LOOP_TIMES], &p->inside)) {
        return adzi_status(NULL);
    }
    if (p->way != SUMMED || !p->dense) {
        return p->way == KEPT ? step_within(results, in, p) : step_without(results, in, p);
    }
    adz_tensor *some = adz_gt_number(adz_select(p->inside.range, 0, 1), 0);
    const size_t n = SUMS + p->n;
    return some != NULL ? adz_branch(some, step_within, step_without, p, in, n, n, results)
                        : adzi_status(NULL);
}

/* The slope at the first time, which is the first one of step 0. */
static adz_status slope_back(adz_tensor **results, adz_tensor *const *in, void *user)
{
    loop_vjp *p = user;
    adzi_ode_row row;
    p->row = adz_add_number(in[STEP], 1);
    if (!begin_step(p, &row)) {
        return adzi_status(NULL);
    }
    const bool before = adz_set_grad_enabled(true);
    adz_tensor *slope =
        adzi_ode_slope(&p->ode, adz_to(row.begin, (adz_dtype)p->y0->dtype), p->targets[p->n]);
    adz_set_grad_enabled(before);
    return add_output(p, p->targets[p->n], in[DSTATE]) && add_output(p, slope, in[DSLOPE]) &&
                   differentiate(p, slope, in, results)
               ? ADZ_OK
               : adzi_status(NULL);
}

static bool take_inputs(loop_vjp *p, const adzi_ode_loop_context *r)
{
    adzi_node *node = p->node;
    const int first_leaf = ADZI_ODE_FIRST_ARGUMENT + (int)p->ode.e.n;
    for (int i = 0; i < node->n_inputs; ++i) {
        adz_tensor *t = adzi_saved_input(node, i);
        const int argument = i - ADZI_ODE_FIRST_ARGUMENT;
        const bool is_argument = argument >= 0 && i < first_leaf;
        if (t != NULL && is_argument) {
            t = p->ode.e.arguments[argument] = adzi_equation_stand_in(t, false);
        }
        if (t == NULL) {
            return false;
        }
        if (i == 0) {
            p->y0 = t;
            p->ode.like = t;
        } else if (i == 1) {
            p->ode.times = adz_detach(t);
        } else if (adzi_needs(node, i) && (!is_argument || r->used[argument])) {
            p->positions[p->n] = i;
            p->targets[p->n++] = t;
        }
    }
    return p->ode.times != NULL;
}

static bool take_extras(loop_vjp *p, const adzi_ode_loop_context *r)
{
    for (int i = 0; i < ADZI_LOOP_EXTRAS; ++i) {
        const bool saved = i != ADZI_LOOP_SLOPES || r->slopes;
        p->extras[i] = saved ? adzi_saved_extra(p->node, i) : NULL;
        if (saved && p->extras[i] == NULL) {
            return false;
        }
    }
    p->rows = (adzi_ode_rows){ p->extras[ADZI_LOOP_STATES], p->extras[ADZI_LOOP_SLOPES],
        p->extras[ADZI_LOOP_SPANS] };
    p->ode.sign = p->extras[ADZI_LOOP_SIGN];
    adz_tensor *most = adz_where(adz_lt_number(p->ode.sign, 0),
        adz_scalar((double)r->most[1], ADZ_I64), adz_scalar((double)r->most[0], ADZ_I64));
    p->fits = p->loose = adz_le(p->extras[ADZI_LOOP_COUNT], most);
    return p->fits != NULL;
}

/* Before the last step. Sums begin with -0. */
static bool begin(loop_vjp *p, adz_tensor **carries)
{
    adz_tensor *last = carries[STEP] = adz_add_number(p->extras[ADZI_LOOP_COUNT], -1);
    carries[DSLOPE] = adz_neg(adz_zeros_like(p->y0));
    carries[DSTATE] = p->many ? carries[DSLOPE] : adz_select(p->dy, 0, 1);
    bool good = last != NULL && carries[DSLOPE] != NULL && carries[DSTATE] != NULL;
    if (good && p->dense) {
        good = adzi_ode_rows_inside(&p->rows, last, p->extras[ADZI_LOOP_TIMES], &p->inside);
        adz_tensor *none = good ? adz_eq_number(adz_select(p->inside.range, 0, 1), 0) : NULL;
        p->loose = adz_logical_and(p->fits, none);
    }
    for (size_t i = 0; i < p->n && good; ++i) {
        carries[SUMS + i] = adz_neg(adz_zeros_like(p->targets[i]));
        good = carries[SUMS + i] != NULL;
    }
    return good && p->loose != NULL;
}

/* All loops, some of which make no step. */
static bool run_loops(loop_vjp *p, const adzi_ode_loop_context *r, adz_tensor **carries)
{
    const int64_t most_steps = r->ode.o.max_steps;
    const bool all = r->most[0] >= most_steps && r->most[1] >= most_steps;
    for (int i = r->slopes ? LAST : SUMMED; i < (all ? SUMMED : WAYS); ++i) {
        p->way = (way)i;
        const bool one = p->way == LAST || p->way == FIRST;
        if (adz_while(goes_on, p->way == FIRST ? slope_back : step_back, p, carries, SUMS + p->n,
                one ? 1 : most_steps, carries, NULL, NULL) != ADZ_OK) {
            return false;
        }
    }
    return true;
}

/* Gives the gradients to the inputs. */
static adz_status give(const loop_vjp *p, adz_tensor *const *carries, adz_tensor **dx)
{
    for (size_t i = 0; i < p->n; ++i) {
        dx[p->positions[i]] = carries[SUMS + i];
    }
    if (adzi_needs(p->node, 0)) {
        dx[0] = adz_add(carries[DSTATE], adz_select(p->dy, 0, 0));
        return adzi_status(dx[0]);
    }
    return ADZ_OK;
}

adz_status adzi_ode_loop_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_ode_loop_context *r = *(adzi_ode_loop_context *const *)node->attr;
    const char *op = r->ode.e.op;
    if (adzi_self()->grad_enabled) {
        return adzi_error(op, ADZ_ERR_STATE,
            "a solution with error control has no derivatives of second order or forwards in a plan; set steps, or call %s outside of the plan",
            op);
    }
    const size_t room = 2 * (size_t)node->n_inputs + SUMS + MOST_OUTPUTS;
    const int64_t bytes[] = { (int64_t)(room * (5 * sizeof(adz_tensor *) + sizeof(int))) };
    adz_tensor *memory = adzi_scratch(op, ADZ_U8, 1, bytes);
    if (memory == NULL) {
        return adzi_status(NULL);
    }
    loop_vjp p = { .ode = r->ode, .node = node, .dy = adzi_compact(op, dy[0]) };
    p.targets = (adz_tensor **)(void *)memory->data;
    p.grads = p.targets + room;
    p.outputs = p.grads + room;
    p.upstream = p.outputs + room;
    adz_tensor **carries = p.upstream + room;
    p.positions = (int *)(void *)(carries + room);
    p.ode.graph = true;
    p.ode.chords = 1;
    p.many = r->ode.n_times > 2;
    p.dense = p.many && r->ode.o.method != ADZ_ODE_RODAS4; /* whose steps end at all times */
    if (p.dy == NULL || !take_inputs(&p, r) || !take_extras(&p, r) || !begin(&p, carries) ||
        !run_loops(&p, r, carries)) {
        return adzi_status(NULL);
    }
    return give(&p, carries, dx);
}
