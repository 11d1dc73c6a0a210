/* The test of the sweep that traces the gradients of an operator.
 *
 * A function that calls adz_autograd_grad is traced: it computes a sample of an operator and its
 * gradients. The trace refuses a kernel that belongs to no traced call, and a tensor whose
 * elements no traced call has computed (Note [Nothing outside the trace] in base/tracer.h). So
 * the test fails when a backward computes something outside the operators that it calls.
 */
#include <stdio.h>

#include "export/trace.h"
#include "ops/sweep.h"

/* Operators with samples whose forward no trace can contain, and a part of what it says. */
static const struct {
    const char *name, *says;
} not_traced[] = {
    { "scaled_dot_product_attention", "draws random numbers" }, /* a mask is given */
    { "gumbel_softmax", "draws random numbers" },
    { "rrelu", "draws random numbers" },
    { "masked_select", "by the program itself" },
    { "bincount", "by the program itself" },
    { "unique_consecutive", "by the program itself" },
    { "unique_consecutive_dim", "by the program itself" },
    { "unique", "by the program itself" },
    { "unique_dim", "by the program itself" },
    { "index_put", "by the program itself" }, /* with a mask */
    { "instance_norm", "in another way than through this tensor" },
};

/* What a trace of the test computes. */
typedef struct traced {
    const op_case *c;
    built *inputs;
    bool gradients;
} traced;

/* Results and gradients, each as one number, as one tensor. Where there are no gradients, the
 * result. */
static adz_tensor *join(const outcome *o, bool gradients)
{
    adz_tensor *sum = adz_sum(adz_to(o->results[0], ADZ_F64), ADZ_ALL_DIMS, ADZ_DROPDIM);
    for (int i = 0; i < CASE_INPUTS && gradients; ++i) {
        if (o->gradients[i] != NULL) {
            sum =
                adz_add(sum, adz_sum(adz_to(o->gradients[i], ADZ_F64), ADZ_ALL_DIMS, ADZ_DROPDIM));
        }
    }
    return sum;
}

static adz_tensor *compute(void *user)
{
    traced *t = user;
    outcome o = { 0 };
    if (t->gradients) {
        return run_built(t->c, t->inputs, true, &o) ? join(&o, true) : NULL;
    }
    return call_built(t->c, t->inputs, o.results) > 0 ? join(&o, false) : NULL;
}

/* True if the function could be traced. Otherwise the error is recorded. */
static bool can_trace(traced *t)
{
    adz_tensor *leaves[CASE_INPUTS];
    size_t n = 0;
    for (int i = 0; i < t->inputs->args.n; ++i) {
        if (!t->inputs->specs[i].none) {
            leaves[n++] = t->inputs->leaves[i];
        }
    }
    const adzi_export what = { .function = compute, .user = t, .inputs = { leaves, n } };
    adzi_trace *trace = adzi_trace_new("sweep", &what, NULL);
    const bool good = trace != NULL;
    adzi_trace_free(&trace);
    return good;
}

static bool is_refused(const op_case *c)
{
    bool refused = false;
    for (size_t i = 0; i < sizeof not_traced / sizeof *not_traced; ++i) {
        refused = refused || (strcmp(c->name, not_traced[i].name) == 0 &&
                                 strstr(adz_error_message(), not_traced[i].says) != NULL);
    }
    return refused;
}

static void trace_sample(const op_case *c, size_t s, case_layout layout, size_t *n_traced)
{
    adz_scope *scope = adz_scope_open();
    built b;
    build_sample(&b, c, s, layout, ADZ_F32, 1000);
    traced t = { .c = c, .inputs = &b };
    const bool forward = can_trace(&t);
    if (!forward && !is_refused(c)) {
        FAIL("sample %zu, layout %d, forward: %s", s, (int)layout, adz_error_message());
    }
    adz_error_clear();
    t.gradients = true;
    if (forward && !can_trace(&t)) {
        FAIL("sample %zu, layout %d: %s", s, (int)layout, adz_error_message());
    }
    *n_traced += 1;
    adz_scope_close(scope);
}

void gradients_are_calls(void **state)
{
    const op_case *c = *state;
    size_t n_traced = 0;
    for (size_t s = 0; s < n_samples(c) && !c->not_differentiable; ++s) {
        trace_sample(c, s, LAYOUT_PLAIN, &n_traced);
        if (!c->no_layouts && !c->samples[s].large) {
            trace_sample(c, s, LAYOUT_TRANSPOSED, &n_traced);
            trace_sample(c, s, LAYOUT_SLICED, &n_traced);
        }
    }
    if (n_traced < 2 && !c->not_differentiable) {
        FAIL("%zu samples were traced", n_traced);
    }
}
