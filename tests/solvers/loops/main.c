/* Scans, while loops and branches, adze/loops.h. */
#include "solvers/loops/loops.h"

static adz_scope *scope;

int loops_open(void **state)
{
    (void)state;
    adz_error_clear();
    scope = adz_scope_open();
    return scope == NULL;
}

int loops_close(void **state)
{
    (void)state;
    adz_scope_close(scope);
    return adz_error_code() != ADZ_OK;
}

cell cell_new(uint64_t seed, adz_dtype dtype)
{
    adz_manual_seed(seed);
    cell c = { adz_randn(ADZ_SHAPE(WIDTH, WIDTH), dtype), adz_randn(ADZ_SHAPE(WIDTH, WIDTH), dtype),
        adz_randn(ADZ_SHAPE(WIDTH), dtype) };
    adz_requires_grad_(c.w, true);
    adz_requires_grad_(c.u, true);
    adz_requires_grad_(c.b, true);
    return c;
}

adz_status cell_step(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const cell *c = user;
    adz_tensor *h = inputs[0], *from_x = adz_matmul(inputs[1], c->w);
    adz_tensor *z = adz_sigmoid(adz_add(from_x, adz_matmul(h, c->u)));
    adz_tensor *n = adz_tanh(adz_add(adz_matmul(adz_mul(z, h), c->u), c->b));
    results[0] = adz_lerp(h, n, z);
    results[1] = adz_mul_number(results[0], 2);
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

adz_status cell_unrolled(
    const cell *c, adz_tensor *h, adz_tensor *xs, bool reverse, adz_tensor **results)
{
    adz_tensor *x[64], *y[64];
    const int64_t n = adz_tensor_size(xs, 0);
    assert_true(n > 0 && n <= 64);
    assert_int_equal(adz_unbind(xs, 0, x, 64, NULL), ADZ_OK);
    for (int64_t step = 0; step < n; ++step) {
        const int64_t t = reverse ? n - 1 - step : step;
        adz_tensor *in[2] = { h, x[t] }, *out[2] = { NULL, NULL };
        if (cell_step(out, in, (void *)(uintptr_t)c) != ADZ_OK) {
            return adz_error_code();
        }
        h = out[0];
        y[t] = out[1];
    }
    results[0] = h;
    results[1] = adz_stack(y, (size_t)n, 0);
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

int main(void)
{
    return run_group("values", loops_values, N_LOOPS_VALUES) +
           run_group("gradients", loops_gradients, N_LOOPS_GRADIENTS) +
           run_group("conditions", loops_conditions, N_LOOPS_CONDITIONS) +
           run_group("effects", loops_effects, N_LOOPS_EFFECTS) +
           run_group("checkpoints", loops_checkpoints, N_LOOPS_CHECKPOINTS) +
           run_group("making", loops_making, N_LOOPS_MAKING) +
           run_group("plans", loops_plans, N_LOOPS_PLANS) +
           run_group("random", loops_random, N_LOOPS_RANDOM) +
           run_group("recurrent", loops_recurrent, N_LOOPS_RECURRENT) +
           run_group("refused", loops_refused, N_LOOPS_REFUSED);
}
