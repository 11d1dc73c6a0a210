/* The test of the sweep that captures an operator and replays it.
 *
 * Each sample of an operator becomes a plan of its forward and backward. Once the plan is captured,
 * other contents are written into the inputs, and the plan runs again. Results and gradients must
 * have the bits of an ordinary call with these contents. So the test fails when the host computes
 * something from the contents of a tensor, writes to a tensor outside the launches, or uses memory
 * that a plan does not know.
 */
#include <stdio.h>

#include "ops/sweep.h"
#include "plan/plan.h"

/* Samples that cannot be replayed, and why. */
static const struct {
    const char *name;
    double p0; /* the first number of these samples */
    const char *reason;
} not_replayed[] = {
    { "one_hot", -1, "the largest index decides the shape of the result" },
    { "nonzero", 0, "the elements decide the shape of the result" },
    { "masked_select", 0, "the mask decides the shape of the result" },
    { "bincount", 0, "the largest number decides the shape of the result" },
    { "unique_consecutive", 0, "the elements decide the shape of the result" },
    { "unique_consecutive_dim", 0, "the elements decide the shape of the result" },
    { "unique", 0, "the elements decide the shape of the result" },
    { "unique_dim", 0, "the elements decide the shape of the result" },
    { "index_put", -1, "the mask decides how many values are put" },
};

static bool is_replayed(const op_case *c, size_t s)
{
    for (size_t i = 0; i < sizeof not_replayed / sizeof *not_replayed; ++i) {
        if (strcmp(c->name, not_replayed[i].name) == 0 &&
            c->samples[s].p[0] == not_replayed[i].p0) {
            return false;
        }
    }
    return true;
}

/* What a plan of the test computes. */
typedef struct captured {
    const op_case *c;
    built inputs;
    bool expression;
    outcome got; /* kept */
} captured;

static void release(outcome *o)
{
    for (int k = 0; k < o->n_results; ++k) {
        adz_release(&o->results[k]);
    }
    for (int i = 0; i < CASE_INPUTS; ++i) {
        if (o->gradients[i] != NULL) {
            adz_release(&o->gradients[i]);
        }
    }
    *o = (outcome){ 0 };
}

static adz_tensor *compute(void *user)
{
    captured *s = user;
    outcome o;
    release(&s->got);
    if (!run_built(s->c, &s->inputs, s->expression, &o)) {
        return NULL;
    }
    s->got = o;
    for (int k = 0; k < o.n_results; ++k) {
        s->got.results[k] = adz_keep(adz_detach(o.results[k]));
    }
    for (int i = 0; i < CASE_INPUTS; ++i) {
        s->got.gradients[i] = o.gradients[i] != NULL ? adz_keep(adz_detach(o.gradients[i])) : NULL;
    }
    return o.results[0];
}

/* Writes the contents of the leaves `from` into the memory of the leaves `to`, without the tape. */
static void write_contents(const built *to, const built *from)
{
    for (int i = 0; i < to->args.n; ++i) {
        if (!to->specs[i].none) {
            size_t bytes = (size_t)adz_tensor_numel(to->leaves[i]) *
                           adz_dtype_size(adz_tensor_dtype(to->leaves[i]));
            if (bytes > 0) {
                memcpy(adz_tensor_data(to->leaves[i]), adz_tensor_data(from->leaves[i]), bytes);
            }
        }
    }
}

static void compare(
    const op_case *c, size_t s, const char *what, const outcome *got, const outcome *expected)
{
    for (int k = 0; k < expected->n_results; ++k) {
        if (!same_bits(got->results[k], expected->results[k])) {
            FAIL("sample %zu, %s: result %d replayed differs by %g", s, what, k,
                difference(got->results[k], expected->results[k], 0));
        }
    }
    for (int i = 0; i < CASE_INPUTS; ++i) {
        if (expected->gradients[i] != NULL &&
            !same_bits(got->gradients[i], expected->gradients[i])) {
            FAIL("sample %zu, %s: the gradient of input %d replayed differs by %g", s, what, i,
                difference(got->gradients[i], expected->gradients[i], 0));
        }
    }
}

/* A captured plan of the sample; its inputs have been used by two ordinary calls. */
static adz_plan *capture(captured *s, size_t sample, const char *what)
{
    const op_case *c = s->c;
    adz_plan_info info;
    adz_plan *plan = adz_plan_new(compute, s, NULL);
    if (plan == NULL || adz_plan_run(plan) != ADZ_OK) {
        FAIL("sample %zu, %s: %s", sample, what, adz_error_message());
    }
    adz_plan_get_info(plan, &info, sizeof info);
    if (!info.captured) {
        FAIL("sample %zu, %s: the second call made other launches", sample, what);
    }
    return plan;
}

static void replay_sample(
    const op_case *c, size_t s, case_layout layout, adz_dtype dtype, bool expression)
{
    static const char *const names[] = { "fused", "expression" };
    const char *what = names[expression];
    adz_scope *scope = adz_scope_open();
    captured planned = { .c = c, .expression = expression };
    built other;
    outcome expected;
    build_sample(&planned.inputs, c, s, layout, dtype, 1000);
    build_sample(&other, c, s, layout, dtype, 77);
    adz_plan *plan = capture(&planned, s, what);
    write_contents(&planned.inputs, &other);
    if (!run_built(c, &other, expression, &expected)) {
        FAIL("sample %zu, %s, other contents: %s", s, what, adz_error_message());
    }
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    compare(c, s, what, &planned.got, &expected);
    for (int i = 0; i < other.args.n; ++i) { /* an operator may write to an input */
        if (!other.specs[i].none && !same_bits(planned.inputs.leaves[i], other.leaves[i])) {
            FAIL("sample %zu, %s: input %d replayed differs", s, what, i);
        }
    }
    adz_plan_free(&plan);
    release(&planned.got);
    adz_scope_close(scope);
}

void replay_with_other_contents(void **state)
{
    const op_case *c = *state;
    for (size_t s = 0; s < n_samples(c); ++s) {
        for (int expression = 0; expression < 2 && is_replayed(c, s); ++expression) {
            replay_sample(c, s, LAYOUT_PLAIN, ADZ_F32, expression != 0);
            replay_sample(c, s, LAYOUT_PLAIN, ADZ_F64, expression != 0);
            if (!c->no_layouts) {
                replay_sample(c, s, LAYOUT_SLICED, ADZ_F32, expression != 0);
            }
        }
    }
}
