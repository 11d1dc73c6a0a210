/* Scans whose steps are computed again in the backward: the bits of scans without it, in the memory
 * of about two square roots of the steps. */
#include "solvers/loops/loops.h"

enum { WIDE = 2048 };

typedef struct kept {
    cell c;
    adz_tensor *h, *xs, *strange;
    adz_loop_body body;
    bool checkpoint, reverse;
    int calls;
} kept;

/* The gradients of the sum of squares of the results and of the last carry. */
static adz_status run_kept(adz_tensor **results, void *user)
{
    kept *k = user;
    adz_tensor *found[2], *leaves[] = { k->c.w, k->c.u, k->c.b, k->h, k->xs };
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.checkpoint = k->checkpoint;
    o.reverse = k->reverse;
    if (adz_scan(k->body, k, &k->h, 1, &k->xs, 1, 1, &o, found) != ADZ_OK) {
        return adz_error_code();
    }
    adz_tensor *sum = adz_add(adz_sum(adz_square(found[1]), ADZ_ALL_DIMS, ADZ_DROPDIM),
        adz_sum(found[0], ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_backward_options b = ADZ_BACKWARD_OPTIONS;
    b.allow_unused = true;
    results[0] = adz_clone(found[1]);
    return adz_autograd_grad(&sum, NULL, 1, leaves, 5, &b, results + 1);
}

static adz_status drops_out(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const adz_status status = cell_step(results, inputs, user);
    results[0] = status == ADZ_OK ? adz_dropout(results[0], 0.25, true, NULL) : NULL;
    results[1] = results[0]; /* one tensor is the carry and the result */
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static kept kept_new(adz_loop_body body, int64_t steps)
{
    kept k = { .c = cell_new(7, ADZ_F64), .body = body };
    k.h = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, WIDTH), ADZ_F64), true);
    k.xs = adz_requires_grad_(adz_randn(ADZ_SHAPE(steps, 2, WIDTH), ADZ_F64), true);
    return k;
}

static void assert_same(adz_tensor *const *found, adz_tensor *const *wanted)
{
    for (size_t i = 0; i < 6; ++i) {
        assert_true(found[i] == wanted[i] || same_bits(found[i], wanted[i]));
    }
}

static void gradients_have_the_bits_of_scans_without_checkpoints(void **state)
{
    (void)state;
    const int64_t lengths[] = { 1, 2, 3, 7, 30, 64 };
    const adz_loop_body bodies[] = { cell_step, drops_out };
    for (size_t i = 0; i < 24; ++i) {
        adz_tensor *wanted[6], *found[6];
        kept k = kept_new(bodies[i % 2], lengths[i / 4]);
        k.reverse = i & 2;
        adz_manual_seed(5);
        assert_int_equal(run_kept(wanted, &k), ADZ_OK);
        adz_tensor *next = adz_rand(ADZ_SHAPE(1), ADZ_F32); /* the generator is where it would be */
        k.checkpoint = true;
        adz_manual_seed(5);
        assert_int_equal(run_kept(found, &k), ADZ_OK);
        assert_same(found, wanted);
        assert_true(same_bits(adz_rand(ADZ_SHAPE(1), ADZ_F32), next));
    }
}

static void plans_replay_checkpoints(void **state)
{
    (void)state;
    const adz_loop_body bodies[] = { cell_step, drops_out };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *wanted[4][6], *found[6];
        kept k = kept_new(bodies[i], 200);
        adz_manual_seed(6);
        for (int run = 0; run < 4; ++run) {
            assert_int_equal(run_kept(wanted[run], &k), ADZ_OK);
        }
        k.checkpoint = true;
        adz_manual_seed(6);
        adz_plan *plan = adz_plan_new_many(run_kept, &k, 6, NULL);
        assert_non_null(plan);
        for (int run = 1; run < 4; ++run) {
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            for (size_t r = 0; r < 6; ++r) {
                found[r] = adz_plan_result_at(plan, r);
            }
            assert_same(found, wanted[run]);
        }
        adz_plan_info info;
        adz_plan_get_info(plan, &info, sizeof info);
        assert_true(info.captured);
        adz_plan_free(&plan);
    }
}

static adz_status wide_step(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const kept *k = user;
    results[0] = adz_tanh(adz_add(adz_mul(inputs[0], k->c.w), inputs[1]));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

/* The most bytes alive in a gradient of a scan over a wide state, in states. */
static double states_of(int64_t steps, bool checkpoint)
{
    adz_memory_info before, after;
    adz_scope *scope = adz_scope_open();
    kept k = { .checkpoint = checkpoint };
    k.c.w = adz_requires_grad_(adz_ones(ADZ_SHAPE(WIDE), ADZ_F64), true);
    k.h = adz_ones(ADZ_SHAPE(WIDE), ADZ_F64);
    k.xs = adz_ones(ADZ_SHAPE(steps, 1), ADZ_F64);
    adz_get_memory_info(&before, sizeof before);
    adz_reset_peak_memory();
    adz_tensor *last, *gradient;
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.checkpoint = checkpoint;
    assert_int_equal(adz_scan(wide_step, &k, &k.h, 1, &k.xs, 1, 0, &o, &last), ADZ_OK);
    adz_tensor *sum = adz_sum(last, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_autograd_grad(&sum, NULL, 1, &k.c.w, 1, NULL, &gradient), ADZ_OK);
    adz_get_memory_info(&after, sizeof after);
    adz_scope_close(scope);
    return (double)(after.peak_bytes - before.live_bytes) / (WIDE * sizeof(double));
}

/* Without checkpoints a step keeps one state or more. With them there are the carries of 32 or 64
 * chunks, and what the steps of one chunk keep. */
static void memory_grows_with_the_square_root_of_the_steps(void **state)
{
    (void)state;
    const double all = states_of(1024, false), few = states_of(1024, true),
                 more = states_of(4096, true);
    assert_true(all > 1024);
    assert_true(few < 32 + 3 * 32 + 40);
    assert_true(more < 64 + 3 * 64 + 80);
}

/* In the backward, the body uses a weight that it has not used before. */
static adz_status strays(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    kept *k = user;
    results[0] = adz_mul(inputs[0], k->calls++ < 9 ? k->c.b : k->strange);
    results[1] = adz_add(results[0], inputs[1]);
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

/* A solver in the body makes leaves of its own in each call. */
static int half(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sub(adz_mul_number(in[0], 2), in[1]);
    return out[0] != NULL;
}

static adz_status solves(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const adz_tensor_function f = { half, NULL };
    (void)user;
    adz_tensor *argument = adz_add(inputs[0], inputs[1]);
    results[0] = adz_root_many(&f, adz_detach(argument), &argument, 1, NULL, NULL);
    results[1] = results[0];
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void solvers_in_bodies_say_what_to_do(void **state)
{
    (void)state;
    adz_tensor *found[6];
    kept k = kept_new(solves, 9);
    assert_int_equal(run_kept(found, &k), ADZ_OK);
    k.checkpoint = true;
    assert_int_equal(run_kept(found, &k), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "as the solvers of adze/solvers.h do, leave checkpoint out");
}

static void bodies_that_do_something_else_are_refused(void **state)
{
    (void)state;
    adz_tensor *found[6];
    kept k = kept_new(strays, 9);
    k.strange = adz_requires_grad_(adz_randn(ADZ_SHAPE(WIDTH), ADZ_F64), true);
    k.checkpoint = true;
    assert_int_equal(run_kept(found, &k), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "did not use in the forward");
    k.calls = -9; /* the second call of each step is as the first one */
    assert_int_equal(run_kept(found, &k), ADZ_OK);
}

/* Reads a tensor without a gradient and a number, which have changed before the backward. */
static adz_status reads_outside(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const kept *k = user;
    adz_tensor *masked = adz_mul(adz_mul(inputs[0], k->strange), k->c.b);
    results[0] = adz_add_number(masked, k->calls);
    results[1] = adz_add(results[0], inputs[1]);
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static void a_change_of_what_the_body_reads_is_noticed(void **state)
{
    (void)state;
    const int64_t lengths[] = { 1, 9, 30 };
    for (int i = 0; i < 9; ++i) {
        adz_tensor *found[2], *gradient;
        kept k = kept_new(reads_outside, lengths[i / 3]);
        k.strange = adz_full(ADZ_SHAPE(WIDTH), 0.5, ADZ_F64);
        adz_scan_options o = ADZ_SCAN_OPTIONS;
        o.checkpoint = true;
        assert_int_equal(adz_scan(k.body, &k, &k.h, 1, &k.xs, 1, 1, &o, found), ADZ_OK);
        adz_tensor *sum = adz_sum(found[1], ADZ_ALL_DIMS, ADZ_DROPDIM);
        if (i % 3 == 1) {
            adz_fill_(k.strange, 0.25);
        }
        k.calls += i % 3 == 2;
        const adz_status status = adz_autograd_grad(&sum, NULL, 1, &k.c.b, 1, NULL, &gradient);
        assert_int_equal(status, i % 3 == 0 ? ADZ_OK : ADZ_ERR_STATE);
        if (i % 3 != 0) {
            expect_error(
                ADZ_ERR_STATE, "another carry 0 than the first one: something has changed since");
        }
    }
}

static adz_status fails_again(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    kept *k = user;
    results[0] = adz_mul(inputs[0], k->c.b);
    results[1] = k->calls++ < 11 ? results[0] : adz_reshape(results[0], ADZ_SHAPE(3));
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static void errors_of_the_second_call_name_the_step(void **state)
{
    (void)state;
    adz_tensor *found[6];
    kept k = kept_new(fails_again, 9); /* chunks of 3 steps; step 8 belongs to the last one */
    k.checkpoint = true;
    assert_int_not_equal(run_kept(found, &k), ADZ_OK);
    expect_error(ADZ_ERR_SHAPE, "step 8 of adz_scan");
}

const struct CMUnitTest loops_checkpoints[N_LOOPS_CHECKPOINTS] = {
    TEST(gradients_have_the_bits_of_scans_without_checkpoints),
    TEST(plans_replay_checkpoints),
    TEST(memory_grows_with_the_square_root_of_the_steps),
    TEST(bodies_that_do_something_else_are_refused),
    TEST(solvers_in_bodies_say_what_to_do),
    TEST(errors_of_the_second_call_name_the_step),
    TEST(a_change_of_what_the_body_reads_is_noticed),
};
