/* The test of the sweep that records an operator's launches and replays them. See replay.c. */
#include <stdio.h>

#include "ops/replay.h"
#include "ops/sweep.h"

#define FAIL(...)                                   \
    do {                                            \
        char text_[900];                            \
        snprintf(text_, sizeof text_, __VA_ARGS__); \
        replay_end();                               \
        fail_msg("%s: %s", c->name, text_);         \
    } while (0)

/* Samples that cannot be replayed, and why. */
static const struct {
    const char *name;
    double p0; /* the first number of these samples */
    const char *reason;
} not_replayed[] = {
    { "one_hot", -1, "the largest index decides the shape of the result" },
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

/* Writes the contents of the leaves `from` into the memory of the leaves `to`, beside the tape. */
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

static void replay_sample(
    const op_case *c, size_t s, case_layout layout, adz_dtype dtype, bool expression)
{
    static const char *const names[] = { "fused", "expression" };
    const char *what = names[expression];
    adz_scope *scope = adz_scope_open();
    built recorded, other;
    outcome got, expected;
    build_sample(&recorded, c, s, layout, dtype, 1000);
    build_sample(&other, c, s, layout, dtype, 77);
    replay_begin();
    if (!run_built(c, &recorded, expression, &got)) {
        FAIL("sample %zu, %s: %s", s, what, adz_error_message());
    }
    const size_t stack_pointers = replay_stop();
    if (stack_pointers > 0) {
        FAIL("sample %zu, %s: %zu words of arguments point to the stack", s, what, stack_pointers);
    }
    write_contents(&recorded, &other);
    if (!run_built(c, &other, expression, &expected)) {
        FAIL("sample %zu, %s, other contents: %s", s, what, adz_error_message());
    }
    replay_run();
    compare(c, s, what, &got, &expected);
    for (int i = 0; i < recorded.args.n; ++i) { /* an operator may write to an input */
        if (!recorded.specs[i].none && !same_bits(recorded.leaves[i], other.leaves[i])) {
            FAIL("sample %zu, %s: input %d replayed differs", s, what, i);
        }
    }
    adz_scope_close(scope);
    replay_end();
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
