/* The test of the sweep that compares the expression of an operator's forward, which exports write,
 * with the forward itself. */
#include <stdio.h>

#include "ops/op.h"
#include "ops/sweep.h"

enum { MOST = 8 }; /* calls of the operator in one sample, and results of a call */

/* A tracer that computes the expression of each call of one operator besides the call. */
typedef struct {
    adzi_tracer tracer; /* first, so that reports find the struct */
    const char *name;
    int n;
    adz_tensor *results[MOST], *expected[MOST]; /* borrowed from the scope */
    bool draws;                                 /* a call drew numbers and has no expression */
    bool failed;
} comparison;

static bool compute_beside(adzi_tracer *tracer, const adzi_report *r)
{
    comparison *all = (comparison *)(void *)tracer;
    if (r->op->expression == NULL || strcmp(r->op->name, all->name) != 0 ||
        all->n + r->n_results > MOST) {
        return true;
    }
    adz_tensor *made[MOST] = { NULL };
    adzi_self()->tracer = NULL;
    const adz_status status = r->op->expression(made, r->in, r->attr);
    adzi_self()->tracer = tracer;
    if (status == ADZ_ERR_UNSUPPORTED && strstr(adz_error_message(), "dropout") != NULL) {
        all->draws = true;
        adz_error_clear();
        return true;
    }
    all->failed = all->failed || status != ADZ_OK;
    for (int k = 0; k < r->n_results; ++k) {
        all->results[all->n] = made[k];
        all->expected[all->n++] = r->results[k];
    }
    return status == ADZ_OK;
}

static bool allow_host(adzi_tracer *tracer, const adz_tensor *t, const char *function)
{
    (void)tracer, (void)t, (void)function;
    return true;
}

static bool allow_change(adzi_tracer *tracer, adz_tensor *t, const char *op)
{
    (void)tracer, (void)t, (void)op;
    return true;
}

static bool allow_draw(adzi_tracer *tracer, const char *function)
{
    (void)tracer, (void)function;
    return true;
}

static const adz_operator *operator_of(const op_case *c)
{
    for (int i = 0; i < adzi_n_ops; ++i) {
        if (strcmp(adzi_ops[i]->name, c->name) == 0) {
            return adzi_ops[i];
        }
    }
    return NULL;
}

/* Compares in f64. Returns the number of results that were compared, or -1 if the sample draws. */
static int compare_sample(const op_case *c, size_t s, case_layout layout)
{
    adz_scope *scope = adz_scope_open();
    built b;
    adz_tensor *out[CASE_RESULTS] = { NULL };
    comparison all = { .tracer = { .call = compute_beside,
                           .host = allow_host,
                           .change = allow_change,
                           .unrepeatable = allow_draw },
        .name = c->name };
    build_sample(&b, c, s, layout, ADZ_F64, 1000);
    adz_set_grad_enabled(false);
    adzi_self()->tracer = &all.tracer;
    const int n = call_built(c, &b, out);
    adzi_self()->tracer = NULL;
    adz_set_grad_enabled(true);
    if (n < 1 || all.failed) {
        FAIL("sample %zu: %s", s, adz_error_message());
    }
    for (int i = 0; i < all.n; ++i) {
        const double d = difference(all.results[i], all.expected[i], 1e-3);
        if (!(d <= 1e-12)) {
            FAIL("sample %zu, layout %d, result %d: the expression differs by %g", s, (int)layout,
                i, d);
        }
    }
    adz_scope_close(scope);
    return all.draws ? -1 : all.n;
}

void forward_expression(void **state)
{
    const op_case *c = *state;
    const adz_operator *op = operator_of(c);
    size_t compared = 0;
    if (op == NULL || op->expression == NULL) {
        return;
    }
    /* Without a kernel for it, f64 is computed by the expression. The test f32 compares the kernel
     * with f64. */
    if (op->kernels[ADZ_F32] != NULL && op->kernels[ADZ_F64] == NULL) {
        return;
    }
    for (size_t s = 0; s < n_samples(c); ++s) {
        const int n = compare_sample(c, s, LAYOUT_PLAIN);
        compared += n > 0;
        if (n > 0 && !c->no_layouts) {
            compare_sample(c, s, LAYOUT_TRANSPOSED);
        }
    }
    if (compared < 2) {
        FAIL("the expression was compared on %zu samples", compared);
    }
}
