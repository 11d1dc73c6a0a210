/* The test of the sweep about what a node saves, and which writes a backward tolerates.
 *
 * A backward refuses to read a value that was changed in place after the forward, so a change tells
 * whether the value is read. Two things must hold on every sample of an operator:
 *
 * - What the node saves is read by the backward that runs for first gradients, the fused one if
 *   there is one. A value that is saved for second derivatives only would cost every training step
 *   memory, and would make it sensitive to a write.
 * - A backward with create_graph reads no other value. So a write that first gradients tolerate is
 *   tolerated by gradients with a graph.
 */
#include <stdio.h>

#include "autograd/node.h"
#include "ops/sweep.h"

/* What is changed between forward and backward. */
typedef enum { INPUT, RESULT, EXTRA } kind;

/* Saved values that the fused backward does not read in every sample, and why they are saved. */
static const struct {
    const char *name;
    kind what;
    int i;
    const char *reason;
} saved_for_graphs[] = {
    { "gru_layer", INPUT, 4, "the gates are saved, but the expression adds the bias again" },
    { "gru_layer", INPUT, 5, "the gates are saved, but the expression adds the bias again" },
    { "lstm_layer", INPUT, 5, "the gates are saved, but the expression adds the bias again" },
    { "lstm_layer", INPUT, 6, "the gates are saved, but the expression adds the bias again" },
    { "rnn_layer", INPUT, 4, "the gates are saved, but the expression adds the bias again" },
    { "rnn_layer", INPUT, 5, "the gates are saved, but the expression adds the bias again" },
    { "linear_recurrence", RESULT, 0, "only the gradient of the factors reads it" },
    { "norm", INPUT, 0, "p = 0 counts elements and has the gradient 0" },
    { "norm", RESULT, 0, "p = 1 needs the signs of x only" },
};

static bool is_allowed(const op_case *c, kind what, int i)
{
    bool allowed = false;
    for (size_t k = 0; k < sizeof saved_for_graphs / sizeof *saved_for_graphs; ++k) {
        allowed = allowed || (strcmp(saved_for_graphs[k].name, c->name) == 0 &&
                                 saved_for_graphs[k].what == what && saved_for_graphs[k].i == i);
    }
    return allowed;
}

/* The operator's own node, or NULL for a composition. */
static adzi_node *node_of(const op_case *c, adz_tensor *const *results, int n)
{
    adzi_node *node = NULL;
    for (int k = 0; k < n && node == NULL; ++k) {
        node = results[k]->node;
    }
    return node != NULL && strcmp(node->op->name, c->name) == 0 ? node : NULL;
}

/* The storage of one value of the node; NULL if the value is not saved. */
static adzi_storage *storage_of(const adzi_node *node, kind what, int i)
{
    const adz_tensor *t = what == INPUT ? node->inputs[i].saved : NULL;
    if (what == EXTRA) {
        t = node->extras[i].saved;
    }
    return what == RESULT ? node->results[i].saved : t != NULL ? t->storage : NULL;
}

/* The storage of input i as the call got it, saved or not. */
static adzi_storage *input_storage(const built *b, int i)
{
    return i < b->args.n && !b->specs[i].none ? b->leaves[i]->storage : NULL;
}

typedef enum { FUSED, GRAPH } way;

/* Computes the sample, changes one value, and runs a backward. Returns its status; -1 if there is
 * no such value, or no gradient. */
static int status_after_change(
    const op_case *c, size_t s, kind what, int i, bool saved, way by, bool *exists)
{
    adz_scope *scope = adz_scope_open();
    built b;
    adz_tensor *out[CASE_RESULTS] = { NULL }, *ys[CASE_RESULTS], *xs[CASE_INPUTS];
    adz_tensor *found[CASE_INPUTS];
    size_t n_y = 0, n_x = 0;
    build_sample(&b, c, s, LAYOUT_PLAIN, ADZ_F64, 1000);
    const int n = call_built(c, &b, out);
    const adzi_node *node = node_of(c, out, n);
    int status = -1;
    adzi_storage *storage = NULL;
    *exists = node != NULL && i < (what == INPUT       ? node->n_inputs
                                      : what == RESULT ? node->n_results
                                                       : node->n_extras);
    if (*exists) {
        storage = saved || what != INPUT ? storage_of(node, what, i) : input_storage(&b, i);
    }
    for (int k = 0; k < n; ++k) {
        if (adz_tensor_requires_grad(out[k])) {
            ys[n_y++] = adz_sum(out[k], ADZ_ALL_DIMS, ADZ_DROPDIM);
        }
    }
    for (int k = 0; k < b.args.n; ++k) {
        if (!b.specs[k].none && adz_tensor_requires_grad(b.leaves[k])) {
            xs[n_x++] = b.leaves[k];
        }
    }
    if (storage != NULL && n_y > 0 && n_x > 0) {
        adz_backward_options options = ADZ_BACKWARD_OPTIONS;
        options.allow_unused = true;
        options.create_graph = by == GRAPH;
        ++storage->version;
        status = (int)adz_autograd_grad(ys, NULL, n_y, xs, n_x, &options, found);
        adz_error_clear();
    }
    adz_scope_close(scope);
    return status;
}

static void check_value(const op_case *c, size_t s, kind what, int i, bool *exists)
{
    static const char *const names[] = { "input", "result", "value" };
    const int fused = status_after_change(c, s, what, i, true, FUSED, exists);
    if (fused == ADZ_OK && !is_allowed(c, what, i)) {
        FAIL("sample %zu: %s %d is saved, but the backward of first gradients does not read it", s,
            names[what], i);
    }
    if (what == INPUT && *exists) {
        bool same;
        const int first = status_after_change(c, s, what, i, false, FUSED, &same);
        const int graph = status_after_change(c, s, what, i, false, GRAPH, &same);
        if (first == ADZ_OK && graph != ADZ_OK && !is_allowed(c, what, i)) {
            FAIL(
                "sample %zu: a write to input %d is tolerated without a graph, but not with create_graph",
                s, i);
        }
    }
}

void saves_no_more_than_it_reads(void **state)
{
    const op_case *c = *state;
    for (size_t s = 0; s < n_samples(c) && !c->not_differentiable; ++s) {
        for (kind what = INPUT; what <= EXTRA && !c->samples[s].large; ++what) {
            bool exists = true;
            for (int i = 0; exists; ++i) {
                check_value(c, s, what, i, &exists);
            }
        }
    }
}
