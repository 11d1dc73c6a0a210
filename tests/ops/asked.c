/* The test of the sweep about gradients that are asked for one by one.
 *
 * A backward may leave out what nobody asks for, but the gradient of one input depends on the other
 * inputs, whether their gradients are asked for or not. So on every sample the gradient of an input
 * alone must be the one that the input has among all, and so must the derivatives of that gradient
 * by every input. */
#include "ops/sweep.h"

enum { MOST = CASE_INPUTS };

/* A sample of an operator: the results and inputs that have gradients. */
typedef struct graph {
    adz_tensor *ys[CASE_RESULTS], *upstream[CASE_RESULTS], *xs[MOST];
    size_t n_y, n_x;
} graph;

static void build_graph(const op_case *c, size_t s, graph *g)
{
    built b;
    adz_tensor *out[CASE_RESULTS] = { NULL };
    *g = (graph){ .n_y = 0 };
    build_sample(&b, c, s, LAYOUT_PLAIN, ADZ_F64, 1000);
    const int n = call_built(c, &b, out);
    for (int k = 0; k < n; ++k) {
        if (adz_tensor_requires_grad(out[k])) {
            const case_input like = { .fill = FILL_NORMAL };
            g->ys[g->n_y] = out[k];
            g->upstream[g->n_y] = adz_empty(adz_tensor_shape(out[k]), ADZ_F64);
            fill_drawn(g->upstream[g->n_y++], &like, 77 + (uint64_t)k);
        }
    }
    for (int i = 0; i < b.args.n; ++i) {
        if (!b.specs[i].none && adz_tensor_requires_grad(b.leaves[i])) {
            g->xs[g->n_x++] = b.leaves[i];
        }
    }
}

static bool differentiate(adz_tensor *const *ys, adz_tensor *const *upstream, size_t n_y,
    adz_tensor *const *xs, adz_tensor **dxs, size_t n_x, bool create_graph)
{
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.allow_unused = true;
    options.create_graph = create_graph;
    options.retain_graph = true;
    return adz_autograd_grad(ys, upstream, n_y, xs, n_x, &options, dxs) == ADZ_OK;
}

/* How far two gradients are apart. A gradient that does not exist is 0. */
static double apart(adz_tensor *a, adz_tensor *b)
{
    a = a == ADZ_NONE && b != ADZ_NONE ? adz_zeros_like(b) : a;
    b = b == ADZ_NONE && a != ADZ_NONE ? adz_zeros_like(a) : b;
    return a == b ? 0 : difference(a, b, 1e-3);
}

/* The derivatives of the sum of squares of `dx` by every input. */
static bool second_derivatives(const graph *g, adz_tensor *dx, adz_tensor **found)
{
    adz_tensor *sum = adz_sum(adz_square(dx), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return sum != NULL && differentiate(&sum, NULL, 1, g->xs, found, g->n_x, false);
}

static void compare_seconds(
    const op_case *c, size_t s, const graph *g, size_t i, adz_tensor *alone, adz_tensor *among)
{
    adz_tensor *a[MOST], *b[MOST];
    const bool has_graph = adz_tensor_requires_grad(among);
    if (has_graph != adz_tensor_requires_grad(alone)) {
        FAIL("sample %zu: only one gradient of input %zu, alone or among all, has a graph", s, i);
    }
    if (!has_graph) {
        return;
    }
    if (!second_derivatives(g, alone, a) || !second_derivatives(g, among, b)) {
        FAIL("sample %zu: %s", s, adz_error_message());
    }
    for (size_t k = 0; k < g->n_x; ++k) {
        const double d = apart(a[k], b[k]);
        if (!(d <= 1e-9)) {
            FAIL(
                "sample %zu: the derivative by input %zu of the gradient of input %zu, asked for alone, differs by %g",
                s, k, i, d);
        }
    }
}

static void compare_one(const op_case *c, size_t s, const graph *g, bool create_graph,
    adz_tensor *const *among, size_t i)
{
    adz_tensor *alone;
    if (!differentiate(g->ys, g->upstream, g->n_y, &g->xs[i], &alone, 1, create_graph)) {
        FAIL("sample %zu: %s", s, adz_error_message());
    }
    const double d = apart(alone, among[i]);
    if (!(d <= 1e-9)) {
        FAIL("sample %zu: the gradient of input %zu, asked for alone%s, differs by %g", s, i,
            create_graph ? " with create_graph" : "", d);
    }
    if (create_graph && alone != ADZ_NONE && among[i] != ADZ_NONE) {
        compare_seconds(c, s, g, i, alone, among[i]);
    }
}

void gradients_asked_for_alone(void **state)
{
    const op_case *c = *state;
    const int ways = c->no_second_derivative ? 1 : 2;
    for (size_t s = 0; s < n_samples(c) && !c->not_differentiable; ++s) {
        for (int create_graph = 0; create_graph < ways && !c->samples[s].large; ++create_graph) {
            adz_scope *scope = adz_scope_open();
            graph g;
            adz_tensor *among[MOST];
            build_graph(c, s, &g);
            if (g.n_y > 0 && g.n_x > 1) {
                if (!differentiate(
                        g.ys, g.upstream, g.n_y, g.xs, among, g.n_x, create_graph != 0)) {
                    FAIL("sample %zu: %s", s, adz_error_message());
                }
                for (size_t i = 0; i < g.n_x; ++i) {
                    compare_one(c, s, &g, create_graph != 0, among, i);
                }
            }
            adz_scope_close(scope);
        }
    }
}
