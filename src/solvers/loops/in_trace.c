/* Loops and branches as regions of a trace.
 *
 * A body is called with tensors that stand for the carries and inputs of a step. They hold what the
 * first step would get, so that the body runs; results hold what that step gives, in each step. */
#include "solvers/loops/in_trace.h"

#include <string.h>

#include "autograd/regions.h"
#include "base/door.h"

/* ---- tensors --------------------------------------------------------------------------------- */

adz_tensor *adzi_traced_like(const char *op, const adz_tensor *t, int from, int64_t front)
{
    int64_t sizes[ADZ_MAX_RANK + 1];
    sizes[0] = front;
    memcpy(sizes + 1, t->sizes, sizeof t->sizes);
    const int rank = t->rank - from + (front >= 0 ? 1 : 0);
    if (rank > ADZ_MAX_RANK) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "a result of a step has %d dimensions, so there is none for the steps", ADZ_MAX_RANK);
    }
    return adzi_scratch(op, (adz_dtype)t->dtype, rank, front >= 0 ? sizes : sizes + 1 + from);
}

static void copy_all(adz_tensor *const *to, adz_tensor *const *from, size_t n)
{
    for (size_t k = 0; k < n; ++k) {
        adzi_copy(to[k], from[k]);
    }
}

/* New tensors like those of a list. */
static bool make_like(const char *op, adz_tensor **to, adz_tensor *const *like, size_t n)
{
    bool good = true;
    for (size_t k = 0; k < n && good; ++k) {
        to[k] = adzi_traced_like(op, like[k], 0, -1);
        good = to[k] != NULL;
    }
    return good;
}

bool adzi_traced_report(const adzi_op *op, adz_tensor *const *in, size_t n_in,
    adz_tensor *const *results, size_t n_results, const adzi_region_attr *attr)
{
    return adzi_region_report(op, (adzi_region_tensors){ in, (int)n_in },
        (adzi_region_tensors){ results, (int)n_results }, attr);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* A gradient would go through what the body has computed once. */
static adz_status refuse_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)dx;
    (void)dy;
    return adzi_error(node->op->name, ADZ_ERR_UNSUPPORTED,
        "has no gradient in an exported function; export what comes before the backward, or write the steps one after the other");
}

static const adzi_op of_while = { .name = "adz_while", .backward = refuse_backward };
static const adzi_op of_branch = { .name = "adz_branch", .backward = refuse_backward };

static bool any_requires_grad(adz_tensor *const *tensors, size_t n)
{
    bool any = false;
    for (size_t k = 0; k < n && !any; ++k) {
        any = adzi_requires_grad(tensors[k]);
    }
    return any;
}

/* Gives the results a node if one of `sources`, which have a graph, wants a gradient. */
static bool record(const adzi_op *op, adz_tensor *const *sources, size_t n_sources,
    adz_tensor *const *results, size_t n)
{
    adzi_thread *thread = adzi_self();
    if (!thread->grad_enabled || !any_requires_grad(sources, n_sources)) {
        return true;
    }
    adzi_node *node = adzi_node_new(thread, op, sources, (int)n_sources, (int)n, 0, NULL, 0);
    for (size_t k = 0; k < n && node != NULL; ++k) {
        if (adzi_is_float((adz_dtype)results[k]->dtype)) {
            adzi_node_attach(node, (int)k, results[k]);
        }
    }
    if (node != NULL) {
        adzi_node_release(thread, node);
    }
    return node != NULL;
}

/* ---- while ----------------------------------------------------------------------------------- */

typedef struct traced_while {
    adzi_loop *loop;
    adz_loop_condition condition;
    adz_tensor *const *carries;
    adz_tensor **found; /* the last carries, the count and whether the condition ended the loop */
    adzi_region_attr attr;
} traced_while;

static bool test(const traced_while *w)
{
    adz_tensor *truth = w->condition(w->loop->in, w->loop->user);
    if (truth == NULL) {
        (void)adzi_status(NULL); /* an error if the condition has recorded none */
        return false;
    }
    if (!adzi_loop_check_truth(w->loop->op, "the condition", truth) ||
        !adzi_traced_report(&adzi_op_while_test, &truth, 1, NULL, 0, &w->attr)) {
        return false;
    }
    adzi_region_ready();
    return true;
}

static bool end_while(const traced_while *w)
{
    const adzi_loop *loop = w->loop;
    const size_t n = loop->n_carries;
    bool good = make_like(loop->op, w->found, loop->out, n);
    w->found[n] = good ? adzi_scratch(loop->op, ADZ_I64, 0, NULL) : NULL;
    w->found[n + 1] = good ? adzi_scratch(loop->op, ADZ_BOOL, 0, NULL) : NULL;
    if (w->found[n] == NULL || w->found[n + 1] == NULL ||
        !adzi_traced_report(&adzi_op_while_end, loop->out, n, w->found, n + 2, &w->attr)) {
        return false;
    }
    copy_all(w->found, loop->out, n);
    adzi_fill(w->found[n], 1);
    adzi_fill(w->found[n + 1], 1);
    adzi_region_ready();
    return true;
}

static bool run_while(void *state)
{
    const traced_while *w = state;
    const adzi_loop *loop = w->loop;
    const size_t n = loop->n_carries;
    adzi_loop_name_step(loop, -1);
    if (!make_like(loop->op, loop->in, w->carries, n) ||
        !adzi_traced_report(&adzi_op_while_loop, w->carries, n, loop->in, n, &w->attr)) {
        return false;
    }
    copy_all(loop->in, w->carries, n);
    adzi_region_ready();
    return test(w) && adzi_loop_step(w->loop, 0) && end_while(w);
}

static bool record_while(const traced_while *w)
{
    const size_t n = w->loop->n_carries;
    adz_tensor **sources = adzi_loop_list(w->loop->op, 2 * n);
    if (sources == NULL) {
        return false;
    }
    memcpy(sources, w->carries, n * sizeof *sources);
    memcpy(sources + n, w->loop->out, n * sizeof *sources);
    return record(&of_while, sources, 2 * n, w->found, n);
}

adz_status adzi_while_in_trace(adzi_loop *loop, adz_loop_condition condition,
    adz_tensor *const *carries, int64_t most, adz_tensor **results, adz_tensor **count,
    adz_tensor **ended)
{
    const size_t n = loop->n_carries;
    traced_while w = { .loop = loop,
        .condition = condition,
        .carries = carries,
        .attr = { .steps = most, .carries = (int)n } };
    w.found = adzi_loop_list(loop->op, n + 2);
    if (w.found == NULL || !adzi_loop_begin(loop, carries) || !adzi_loop_run(loop, run_while, &w) ||
        !record_while(&w)) {
        return adzi_status(NULL);
    }
    memcpy(results, w.found, n * sizeof *results);
    if (count != NULL) {
        *count = w.found[n];
    }
    if (ended != NULL) {
        *ended = w.found[n + 1];
    }
    return ADZ_OK;
}

/* ---- branch ---------------------------------------------------------------------------------- */

typedef struct traced_branch {
    const char *op;
    adz_tensor *predicate;
    const adz_loop_body *bodies;
    void *user;
    adz_tensor *const *inputs;
    size_t n;          /* results */
    adz_tensor **both; /* those of the two bodies */
    adz_tensor **found;
} traced_branch;

static bool agree(const traced_branch *b)
{
    for (size_t k = 0; k < b->n; ++k) {
        const adz_tensor *one = b->both[k], *other = b->both[b->n + k];
        if (one->dtype != other->dtype || !adzi_same_sizes(one, other)) {
            adzi_error(b->op, one->dtype != other->dtype ? ADZ_ERR_DTYPE : ADZ_ERR_SHAPE,
                "result %zu is %s%s of one body and %s%s of the other, which an export cannot have",
                k, adz_dtype_name((adz_dtype)one->dtype), adzi_text_shape(one),
                adz_dtype_name((adz_dtype)other->dtype), adzi_text_shape(other));
            return false;
        }
    }
    return true;
}

static bool run_branch(void *state)
{
    const traced_branch *b = state;
    const adzi_region_attr none = { 0 };
    adz_tensor *predicate = b->predicate, **others = b->both + b->n;
    if (!adzi_traced_report(&adzi_op_branch, &predicate, 1, NULL, 0, &none)) {
        return false;
    }
    adzi_region_ready();
    if (!adzi_branch_call(b->bodies[0], b->user, b->inputs, b->both, b->n) ||
        !adzi_traced_report(&adzi_op_branch_else, b->both, b->n, NULL, 0, &none)) {
        return false;
    }
    adzi_region_ready();
    if (!adzi_branch_call(b->bodies[1], b->user, b->inputs, others, b->n) || !agree(b) ||
        !make_like(b->op, b->found, others, b->n) ||
        !adzi_traced_report(&adzi_op_branch_end, others, b->n, b->found, b->n, &none)) {
        return false;
    }
    copy_all(b->found, others, b->n);
    adzi_region_ready();
    return true;
}

adz_status adzi_branch_in_trace(const char *op, adz_tensor *predicate,
    const adz_loop_body bodies[2], void *user, adz_tensor *const *inputs, size_t n_results,
    adz_tensor **results)
{
    traced_branch b = { op, predicate, bodies, user, inputs, n_results, NULL, NULL };
    const adzi_door door = { .op = op };
    b.both = adzi_loop_list(op, 3 * n_results);
    if (b.both == NULL) {
        return adzi_status(NULL);
    }
    b.found = b.both + 2 * n_results;
    if (!adzi_through_door(&door, run_branch, &b) ||
        !record(&of_branch, b.both, 2 * n_results, b.found, n_results)) {
        return adzi_status(NULL);
    }
    memcpy(results, b.found, n_results * sizeof *results);
    return ADZ_OK;
}
