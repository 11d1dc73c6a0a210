/* Branches as regions of a trace, and their gradients.
 *
 * The backward of a branch is a branch with the same predicate. Its bodies repeat the calls of
 * those of the branch, as the backward of a loop does (backward_in_trace.c), and give the gradients
 * of all that these have captured. That of a tensor which one body alone uses is 0 in the other
 * one. */
#include <string.h>

#include "adze/ops.h"
#include "base/door.h"
#include "solvers/loops/cut.h"
#include "solvers/loops/in_trace.h"

/* A branch whose bodies are traced. */
typedef struct traced_branch {
    const char *op;
    adz_tensor *predicate;
    size_t n;                   /* results */
    adz_tensor **both, **found; /* results of the two bodies, and those of the branch */
    size_t begin[2];            /* the calls that have begun the bodies */
} traced_branch;

/* What its node knows. */
typedef struct recorded_branch {
    uint64_t trace; /* its number */
    uint64_t begin[2];
    int n;
} recorded_branch;

static const adzi_op of_branch;
static const adzi_op in_onnx = { .name = "adz_branch", .backward = adzi_traced_refuse_backward };

/* ---- the region ------------------------------------------------------------------------------ */

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

/* Begins the first body, or the second one behind it. */
static bool begin_body(traced_branch *b, bool second)
{
    const adzi_region_attr none = { 0 };
    const adzi_tracer *tracer = adzi_self()->tracer;
    if (!adzi_traced_report(second ? &adzi_op_branch_else : &adzi_op_branch,
            second ? b->both : &b->predicate, second ? b->n : 1, NULL, 0, &none)) {
        return false;
    }
    b->begin[second] = tracer->begun(tracer);
    adzi_region_ready();
    return true;
}

static bool end(const traced_branch *b)
{
    const adzi_region_attr none = { 0 };
    adz_tensor **others = b->both + b->n;
    if (!agree(b) || !adzi_traced_make_like(b->op, b->found, others, b->n) ||
        !adzi_traced_report(&adzi_op_branch_end, others, b->n, b->found, b->n, &none)) {
        return false;
    }
    adzi_traced_copy_all(b->found, others, b->n);
    adzi_region_ready();
    return true;
}

/* ---- the node -------------------------------------------------------------------------------- */

static bool make_node(const traced_branch *b, adz_tensor *const *sources, size_t n_sources)
{
    adzi_thread *thread = adzi_self();
    const recorded_branch attr = { thread->tracer->number, { b->begin[0], b->begin[1] },
        (int)b->n };
    const int n = (int)b->n;
    if (n_sources > UINT16_MAX) {
        adzi_error(b->op, ADZ_ERR_UNSUPPORTED,
            "%zu tensors have gradients; at most %d are possible", n_sources, UINT16_MAX);
        return false;
    }
    adzi_node *node = adzi_node_new(thread, thread->tracer->of_step ? &of_branch : &in_onnx,
        sources, (int)n_sources, n, 2 * n + 1, &attr, sizeof attr);
    if (node == NULL) {
        return false;
    }
    for (int k = 0; k < n; ++k) {
        if (adzi_traced_is_float(b->found[k])) {
            adzi_node_attach(node, k, b->found[k]);
        }
    }
    for (int i = 0; i < (int)n_sources; ++i) {
        adzi_node_save_input(node, i, sources[i]);
    }
    for (int k = 0; k < 2 * n; ++k) {
        adzi_node_save_extra(node, k, b->both[k]);
    }
    adzi_node_save_extra(node, 2 * n, b->predicate);
    adzi_node_release(thread, node);
    return true;
}

/* Gives the results a node if something that a body has captured wants a gradient. */
static bool record(const traced_branch *b)
{
    const adzi_thread *thread = adzi_self();
    const adzi_tracer *tracer = thread->tracer;
    if (!thread->grad_enabled) {
        return true;
    }
    const size_t most = tracer->captured(tracer, b->begin[0], NULL, 0);
    adz_tensor **sources = most > 0 ? adzi_loop_list(b->op, most) : NULL;
    if (sources == NULL) {
        return most == 0;
    }
    return make_node(b, sources, tracer->captured(tracer, b->begin[0], sources, most));
}

/* ---- the backward ---------------------------------------------------------------------------- */

/* The branch of the gradients. */
typedef struct backward_branch {
    adzi_node *node;
    const recorded_branch *of;
    adz_tensor *const *dy;
    adz_tensor **outputs, **upstream, **targets, **gradients;
    traced_branch branch;
} backward_branch;

static bool make_lists(backward_branch *b)
{
    const size_t n = (size_t)b->of->n, n_in = (size_t)b->node->n_inputs;
    const size_t most = n > n_in ? n : n_in;
    adz_tensor **room = adzi_loop_list(b->node->op->name, 7 * most + 1);
    if (room == NULL) {
        return false;
    }
    b->outputs = room;
    b->upstream = b->outputs + most;
    b->targets = b->upstream + most;
    b->gradients = b->targets + most;
    b->branch.both = b->gradients + most;
    b->branch.found = b->branch.both + 2 * most;
    bool good = true;
    for (int i = 0; i < (int)n_in && good; ++i) {
        if (adzi_needs(b->node, i)) {
            adz_tensor *t = adzi_saved_input(b->node, i);
            b->targets[b->branch.n++] = t;
            good = t != NULL;
        }
    }
    b->branch.predicate = good ? adzi_saved_extra(b->node, 2 * b->of->n) : NULL;
    return b->branch.predicate != NULL;
}

/* The gradients of one body: its calls again, and the backward of what they compute. */
static bool step_back(const backward_branch *b, bool second)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    const int n = b->of->n;
    size_t n_outputs = 0;
    if (!tracer->repeat(tracer, (size_t)b->of->begin[second])) {
        return false;
    }
    for (int k = 0; k < n; ++k) {
        adz_tensor *y = adzi_saved_extra(b->node, second ? n + k : k);
        if (y == NULL) {
            return false;
        }
        if (b->dy[k] != NULL && adzi_requires_grad(y)) {
            b->outputs[n_outputs] = y;
            b->upstream[n_outputs++] = b->dy[k];
        }
    }
    memset(b->gradients, 0, b->branch.n * sizeof *b->gradients);
    bool good =
        adzi_region_gradients(b->node, 0, (adzi_graded){ b->outputs, b->upstream, n_outputs },
            (adzi_graded){ b->targets, b->gradients, b->branch.n });
    for (size_t i = 0; i < b->branch.n && good; ++i) {
        adz_tensor *g = b->gradients[i];
        const bool none = g == NULL || adzi_is_none(g);
        adz_tensor **to = &b->branch.both[(second ? b->branch.n : 0) + i];
        *to = none ? adz_zeros_like(b->targets[i]) : g;
        good = *to != NULL;
    }
    return good;
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const recorded_branch *r = adzi_attr(node, recorded_branch);
    backward_branch b = { .node = node, .of = r, .dy = dy, .branch = { .op = node->op->name } };
    if (!adzi_traced_runs(node->op->name, r->trace) || !make_lists(&b) ||
        !begin_body(&b.branch, false) || !step_back(&b, false) || !begin_body(&b.branch, true) ||
        !step_back(&b, true) || !end(&b.branch) || !record(&b.branch)) {
        return adzi_status(NULL);
    }
    for (int i = 0, n = 0; i < node->n_inputs; ++i) {
        dx[i] = adzi_needs(node, i) ? b.branch.found[n++] : NULL;
    }
    return ADZ_OK;
}

static const adzi_op of_branch = { .name = "adz_branch", .backward = backward };

/* ---- the branch ------------------------------------------------------------------------------ */

typedef struct called_branch {
    traced_branch *branch;
    const adz_loop_body *bodies;
    void *user;
    adz_tensor *const *inputs;
} called_branch;

static bool run(void *state)
{
    const called_branch *c = state;
    traced_branch *b = c->branch;
    return begin_body(b, false) &&
           adzi_branch_call(c->bodies[0], c->user, c->inputs, b->both, b->n) &&
           begin_body(b, true) &&
           adzi_branch_call(c->bodies[1], c->user, c->inputs, b->both + b->n, b->n) && end(b) &&
           record(b);
}

adz_status adzi_branch_in_trace(const char *op, adz_tensor *predicate,
    const adz_loop_body bodies[2], void *user, adz_tensor *const *inputs, size_t n_results,
    adz_tensor **results)
{
    const adzi_door door = { .op = op };
    traced_branch b = { .op = op, .predicate = predicate, .n = n_results };
    b.both = adzi_loop_list(op, 3 * n_results);
    if (b.both == NULL) {
        return adzi_status(NULL);
    }
    b.found = b.both + 2 * n_results;
    if (!adzi_through_door(&door, run, &(called_branch){ &b, bodies, user, inputs })) {
        return adzi_status(NULL);
    }
    memcpy(results, b.found, n_results * sizeof *results);
    return ADZ_OK;
}
