/* Bodies that are drawn at random: replays have the bits of ordinary calls whatever a body does
 * with carries, inputs and weights. */
#include "solvers/loops/loops.h"

enum { CARRIES = 3, WEIGHTS = 3, OPERATIONS = 9, PROGRAMS = 60 };

/* A body: each operation takes two of the tensors before it. */
typedef struct drawn {
    int kind[OPERATIONS], left[OPERATIONS], right[OPERATIONS];
    int next[CARRIES], result;
    bool trains, reverse, second, checkpoint;
    adz_tensor *weights[WEIGHTS], *start[CARRIES], *xs;
} drawn;

static uint64_t state_of_draws;

/* A number from 0 to n - 1, by Knuth's linear generator. */
static int below_n(int n)
{
    state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
    return (int)((state_of_draws >> 33) % (uint64_t)n);
}

static adz_tensor *operation(int kind, adz_tensor *a, adz_tensor *b)
{
    switch (kind) {
    case 0:
        return adz_add(a, b);
    case 1:
        return adz_mul(a, b);
    case 2:
        return adz_tanh(a);
    case 3:
        return adz_sub(adz_sin(a), b);
    case 4:
        return adz_mul_number(a, 0.75);
    case 5:
        return adz_add(adz_flip(a, ADZ_DIMS(0)), b);
    case 6:
        return adz_where(adz_gt(a, b), a, b);
    default:
        return adz_add(a, adz_mean(b, ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
}

static adz_status drawn_step(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const drawn *d = user;
    adz_tensor *all[CARRIES + 1 + WEIGHTS + OPERATIONS];
    int n = 0;
    for (int i = 0; i <= CARRIES; ++i) {
        all[n++] = inputs[i];
    }
    for (int i = 0; i < WEIGHTS; ++i) {
        all[n++] = d->weights[i];
    }
    for (int i = 0; i < OPERATIONS; ++i, ++n) {
        all[n] = operation(d->kind[i], all[d->left[i]], all[d->right[i]]);
        if (all[n] == NULL) {
            return adz_error_code();
        }
    }
    for (int i = 0; i < CARRIES; ++i) {
        results[i] = all[d->next[i]];
    }
    results[CARRIES] = all[d->result];
    return ADZ_OK;
}

/* The carries may be weights, inputs or each other, as long as their shape is that of a carry. */
static drawn draw(uint64_t seed, int64_t steps)
{
    drawn d = { .trains = seed % 2, .reverse = seed % 3 == 0, .second = seed % 8 == 1 };
    const int before = CARRIES + 1 + WEIGHTS;
    state_of_draws = seed;
    for (int i = 0; i < OPERATIONS; ++i) {
        d.kind[i] = below_n(8);
        d.left[i] = below_n(before + i);
        d.right[i] = below_n(before + i);
    }
    for (int i = 0; i < CARRIES; ++i) {
        d.next[i] = below_n(before + OPERATIONS);
    }
    d.result = below_n(before + OPERATIONS);
    adz_manual_seed(seed);
    for (int i = 0; i < WEIGHTS; ++i) {
        d.weights[i] = adz_randn(ADZ_SHAPE(4), ADZ_F64);
        adz_requires_grad_(d.weights[i], true);
    }
    for (int i = 0; i < CARRIES; ++i) {
        d.start[i] = adz_randn(ADZ_SHAPE(4), ADZ_F64);
    }
    adz_requires_grad_(d.start[0], true);
    d.xs = adz_randn(ADZ_SHAPE(steps, 4), ADZ_F64);
    adz_requires_grad_(d.xs, true);
    return d;
}

static adz_status run_drawn(adz_tensor **results, void *user)
{
    drawn *d = user;
    adz_tensor *found[CARRIES + 1],
        *leaves[] = { d->weights[0], d->weights[1], d->weights[2], d->start[0], d->xs };
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.reverse = d->reverse;
    o.checkpoint = d->checkpoint;
    if (adz_scan(drawn_step, d, d->start, CARRIES, &d->xs, 1, 1, &o, found) != ADZ_OK) {
        return adz_error_code();
    }
    results[0] = adz_sum(adz_square(found[CARRIES]), ADZ_ALL_DIMS, ADZ_DROPDIM);
    for (int i = 0; i < CARRIES; ++i) {
        results[0] = adz_add(results[0], adz_sum(found[i], ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    const bool trains = d->trains && adz_tensor_requires_grad(results[0]);
    adz_backward_options b = ADZ_BACKWARD_OPTIONS;
    b.allow_unused = true;
    b.create_graph = d->second;
    if (trains && adz_autograd_grad(&results[0], NULL, 1, leaves, 5, &b, results + 1) != ADZ_OK) {
        return adz_error_code();
    }
    for (int i = 1; i < 6; ++i) {
        const bool none = !trains || results[i] == ADZ_NONE;
        results[i] = none ? adz_zeros(ADZ_SHAPE(1), ADZ_F64) : adz_square(results[i]);
    }
    adz_tensor *sum = adz_sum(results[1], ADZ_ALL_DIMS, ADZ_DROPDIM), *second;
    if (!d->second || !adz_tensor_requires_grad(sum)) {
        return ADZ_OK;
    }
    b.create_graph = false;
    if (adz_autograd_grad(&sum, NULL, 1, leaves + 4, 1, &b, &second) != ADZ_OK) {
        return adz_error_code();
    }
    results[5] = second == ADZ_NONE ? results[5] : second;
    return ADZ_OK;
}

/* Replays of a drawn body with other contents have the bits of ordinary calls. Returns the launches
 * of the plan. */
static size_t launches_of_drawn(uint64_t seed, int64_t steps)
{
    drawn d = draw(seed, steps);
    adz_tensor *wanted[6] = { NULL };
    adz_plan *plan = adz_plan_new_many(run_drawn, &d, 6, NULL);
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    const bool before = adz_set_grad_enabled(false);
    adz_copy_(d.xs, adz_randn_like(d.xs));
    adz_copy_(d.weights[1], adz_randn_like(d.weights[1]));
    adz_set_grad_enabled(before);
    assert_int_equal(run_drawn(wanted, &d), ADZ_OK);
    for (int again = 0; again < 2; ++again) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        for (size_t k = 0; k < 6; ++k) {
            assert_true(same_bits(adz_plan_result_at(plan, k), wanted[k]));
        }
    }
    adz_plan_info info;
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured);
    adz_plan_free(&plan);
    return info.launches;
}

/* Whether two tensors of f64 have equal bytes, NaN included. */
static bool same_bytes(adz_tensor *a, adz_tensor *b)
{
    const size_t bytes = (size_t)adz_tensor_numel(a) * sizeof(double);
    return adz_tensor_numel(a) == adz_tensor_numel(b) &&
           (bytes == 0 || memcmp(adz_tensor_data(a), adz_tensor_data(b), bytes) == 0);
}

/* Calls with checkpoints have the bits of calls without them, but for second derivatives, whose
 * sums have another order. */
static void checkpoints_of_drawn_bodies_have_the_bits_of_ordinary_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4 * PROGRAMS; seed += 2) {
        adz_scope *scope = adz_scope_open();
        drawn d = draw(seed, 30);
        adz_tensor *wanted[6], *found[6];
        d.second = false;
        assert_int_equal(run_drawn(wanted, &d), ADZ_OK);
        d.checkpoint = true;
        assert_int_equal(run_drawn(found, &d), ADZ_OK);
        for (size_t k = 0; k < 6; ++k) {
            assert_true(same_bytes(found[k], wanted[k]));
        }
        adz_scope_close(scope);
    }
}

/* With 160 steps, launches are left out while the plan is made. */
static void replays_of_drawn_bodies_have_the_bits_of_ordinary_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; ++seed) {
        adz_scope *scope = adz_scope_open();
        const size_t few = launches_of_drawn(seed, 14);
        assert_true(!FOLDS || launches_of_drawn(seed, 40) == few);
        assert_true(!FOLDS || launches_of_drawn(seed, 160) <= 2 * few);
        adz_scope_close(scope);
    }
}

const struct CMUnitTest loops_random[N_LOOPS_RANDOM] = {
    TEST(replays_of_drawn_bodies_have_the_bits_of_ordinary_calls),
    TEST(checkpoints_of_drawn_bodies_have_the_bits_of_ordinary_calls),
};
