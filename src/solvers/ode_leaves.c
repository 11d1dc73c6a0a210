/* Which leaves the functions of a solution use. */
#include <string.h>

#include "autograd/listener.h"
#include "solvers/ode_run.h"
#include "base/alloc.h"

/* Note [Leaves of a solution]
 *
 * The node of a solution has an edge to each leaf that the functions use, at whatever time. The
 * first run hears which inputs of operators want a gradient, in all calls of the functions. When a
 * call has used one that is new, the leaves behind its result are looked for: in its graph if steps
 * are recorded, else by calling the function once more with a graph. So a function is called a
 * second time only where it begins to use another tensor. */

/* More tensors than so many that are used without being leaves are looked at each time anew. Only a
 * function that makes such tensors in each call has them. */
enum { MOST_SEEN = 1024 };

struct adzi_ode_leaves {
    adzi_listener listener;
    adzi_leaves known, seen; /* the leaves; all tensors that were heard of */
    size_t next;             /* the position in `seen` where the next one is expected */
    uint64_t begin;          /* nodes of the run have higher sequence numbers */
    bool records;            /* as in the run */
    adz_tensor *stands_in[1 + ADZ_SOLVER_ARGUMENTS]; /* leaves of recorded steps */
    size_t n_stands_in;
    bool fresh, failed; /* since the last look; memory was refused */
};

static void leaves_free(void *attributes)
{
    adzi_ode_leaves *leaves = *(adzi_ode_leaves **)attributes;
    if (adzi_listener_current == &leaves->listener) { /* the run was left by a jump */
        adzi_listener_current = leaves->listener.before;
    }
    adzi_leaves_free(&leaves->known);
    adzi_leaves_free(&leaves->seen);
    adzi_free(leaves, sizeof *leaves);
}

static const adzi_op leaves_op = {
    .size = sizeof(adzi_op), .name = "odeint_leaves", .attributes_free = leaves_free
};

/* Whether a tensor has been heard of before. Functions use their tensors in the same order in each
 * call, so the search begins behind the last one. */
static bool is_seen(adzi_ode_leaves *leaves, const adz_tensor *t)
{
    const size_t n = leaves->seen.count;
    for (size_t i = 0, k = leaves->next; i < n; ++i, ++k) {
        k = k >= n ? 0 : k;
        if (leaves->seen.items[k] == t) {
            leaves->next = k + 1;
            return true;
        }
    }
    return false;
}

static bool stands_in(const adzi_ode_leaves *leaves, const adz_tensor *t)
{
    for (size_t i = 0; i < leaves->n_stands_in; ++i) {
        if (leaves->stands_in[i] == t) {
            return true;
        }
    }
    return false;
}

static void hear(adzi_listener *listener, adz_tensor *const *in, int n)
{
    adzi_ode_leaves *leaves = (adzi_ode_leaves *)(void *)listener;
    if (adzi_self()->grad_enabled && !leaves->records) {
        return; /* a derivative that the solver or the function computes */
    }
    for (int i = 0; i < n; ++i) {
        adz_tensor *t = in[i];
        if (adzi_is_none(t) || !adzi_requires_grad(t) ||
            (t->node != NULL && t->node->sequence > leaves->begin) || stands_in(leaves, t) ||
            is_seen(leaves, t)) {
            continue;
        }
        leaves->fresh = true;
        if (leaves->seen.count == MOST_SEEN) {
            continue;
        }
        if (!adzi_grow(&leaves->seen.items, &leaves->seen.capacity, leaves->seen.count + 1,
                sizeof *leaves->seen.items)) {
            leaves->failed = true;
            return;
        }
        leaves->seen.items[leaves->seen.count++] = adzi_retain(t);
    }
}

bool adzi_ode_leaves_begin(adzi_ode_run *run)
{
    adzi_thread *thread = adzi_self();
    adz_tensor *owner = adzi_scratch(run->ode->e.op, ADZ_U8, 0, NULL);
    adzi_ode_leaves *leaves = owner != NULL ? adzi_alloc_zero(sizeof *leaves) : NULL;
    if (leaves == NULL) {
        return owner != NULL && adzi_fail_memory(run->ode->e.op, sizeof *leaves) != NULL;
    }
    adzi_node *node =
        adzi_node_new(thread, &leaves_op, NULL, 0, 1, 0, &leaves, sizeof(adzi_ode_leaves *));
    if (node == NULL) {
        adzi_free(leaves, sizeof *leaves);
        return false;
    }
    adzi_node_attach(node, 0, owner); /* which ends with the scope, also after a jump */
    adzi_node_release(thread, node);
    leaves->listener.hear = hear;
    leaves->begin = thread->sequence;
    leaves->records = run->records;
    if (run->records) {
        leaves->stands_in[leaves->n_stands_in++] = run->graph.y0;
        for (size_t i = 0; i < run->ode->e.n; ++i) {
            leaves->stands_in[leaves->n_stands_in++] = run->graph.arguments[i];
        }
    }
    run->ode->leaves = leaves;
    leaves->listener.before = adzi_listener_current;
    adzi_listener_current = &leaves->listener;
    return true;
}

void adzi_ode_leaves_records_no_more(adzi_ode *ode)
{
    if (ode->leaves != NULL) {
        ode->leaves->records = false;
    }
}

void adzi_ode_leaves_end(adzi_ode *ode)
{
    adzi_ode_leaves *leaves = ode->leaves;
    if (leaves != NULL && adzi_listener_current == &leaves->listener) {
        adzi_listener_current = leaves->listener.before;
    }
}

adz_tensor *adzi_ode_heard(
    const adzi_ode *ode, const adzi_equation *e, adz_tensor *const *variables, adz_tensor *y)
{
    adzi_ode_leaves *leaves = ode->leaves;
    adzi_thread *thread = adzi_self();
    if (leaves == NULL || y == NULL || !leaves->fresh) {
        return y;
    }
    leaves->fresh = false;
    if (leaves->failed) {
        return adzi_fail_memory(e->op, leaves->seen.capacity * sizeof(adz_tensor *));
    }
    const size_t mark = thread->n_temporaries;
    const bool again = !thread->grad_enabled; /* y has no graph */
    adz_tensor *value = y;
    if (again) {
        adzi_listener_current = leaves->listener.before;
        thread->grad_enabled = true;
        value = adzi_equation_result(e, variables, ADZI_LEAD);
        thread->grad_enabled = false;
        adzi_listener_current = &leaves->listener;
    }
    const bool good = value != NULL && adzi_leaves_add(&leaves->known, e->op, value,
                                           leaves->stands_in, leaves->n_stands_in);
    if (again) {
        adzi_scope_unwind(thread, mark);
    }
    return good ? y : NULL;
}

size_t adzi_ode_leaves_of(const adzi_ode_leaves *leaves, adz_tensor *const **items)
{
    *items = leaves != NULL ? leaves->known.items : NULL;
    return leaves != NULL ? leaves->known.count : 0;
}
