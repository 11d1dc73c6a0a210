/* Making plans of very many steps: no more memory than an ordinary call, and results that are right
 * where launches that were left out cannot become a loop. */
#include "solvers/loops/loops.h"

typedef struct made {
    cell c;
    adz_tensor *h, *xs, *other;
    bool trains;
    int64_t step, odd, strange, kept; /* the step that comes, one that computes something else, one
                                         that takes another weight, and one whose state lasts */
    adz_tensor *lasting;
} made;

static adz_status made_step(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    made *m = user;
    adz_tensor *weight = m->step == m->strange ? m->other : m->c.b;
    adz_tensor *sum = adz_add(adz_mul(inputs[0], weight), inputs[1]);
    results[0] = m->step == m->odd ? adz_sin(sum) : adz_tanh(sum);
    results[1] = adz_mul(results[0], m->c.b);
    m->lasting = m->step++ == m->kept ? adz_keep(results[0]) : m->lasting;
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

/* The last state, the sum of the results or its gradients, and the state that lasts. */
static adz_status run_made(adz_tensor **results, void *user)
{
    made *m = user;
    adz_tensor *found[2], *leaves[] = { m->c.b, m->xs };
    const bool before = adz_set_grad_enabled(m->trains);
    m->step = 0;
    m->lasting = NULL;
    const adz_status status = adz_scan(made_step, m, &m->h, 1, &m->xs, 1, 1, NULL, found);
    adz_set_grad_enabled(before);
    if (status != ADZ_OK) {
        return status;
    }
    adz_tensor *sum = adz_sum(adz_square(found[1]), ADZ_ALL_DIMS, ADZ_DROPDIM);
    results[0] = adz_clone(found[0]);
    results[1] = results[2] = sum;
    results[3] = adz_clone(m->lasting != NULL ? m->lasting : found[0]);
    adz_release(&m->lasting);
    return m->trains ? adz_autograd_grad(&sum, NULL, 1, leaves, 2, NULL, results + 1) : ADZ_OK;
}

static made made_new(int64_t steps, bool trains)
{
    made m = { .c = cell_new(3, ADZ_F64), .trains = trains, .odd = -1, .strange = -1, .kept = -1 };
    m.other = adz_requires_grad_(adz_randn(ADZ_SHAPE(WIDTH), ADZ_F64), true);
    m.h = adz_randn(ADZ_SHAPE(1, WIDTH), ADZ_F64);
    m.xs = adz_requires_grad_(adz_randn(ADZ_SHAPE(steps, 1, WIDTH), ADZ_F64), true);
    return m;
}

/* The most bytes that were alive in a call, or while a plan was made, beyond those before. */
static size_t bytes_of(made *m, bool plans)
{
    adz_memory_info before, after;
    adz_tensor *found[4];
    adz_scope *scope = adz_scope_open();
    adz_plan *plan = NULL;
    adz_get_memory_info(&before, sizeof before);
    adz_reset_peak_memory();
    if (plans) {
        plan = adz_plan_new_many(run_made, m, 4, NULL);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    } else {
        assert_int_equal(run_made(found, m), ADZ_OK);
    }
    adz_get_memory_info(&after, sizeof after);
    adz_plan_free(&plan);
    adz_scope_close(scope);
    return after.peak_bytes - before.live_bytes;
}

/* How much more memory each step takes while a plan is made than in a call. */
static double bytes_per_step(bool trains)
{
    enum { FEW = 1000, MANY = 10000 };
    made few = made_new(FEW, trains), many = made_new(MANY, trains);
    const double more = (double)bytes_of(&many, true) - (double)bytes_of(&many, false);
    const double less = (double)bytes_of(&few, true) - (double)bytes_of(&few, false);
    return (more - less) / (MANY - FEW);
}

/* In a step there are 4 launches without a gradient, and 15 with one. Each takes 400 bytes or more
 * if it is held. What remains are the memory of the plan and notes of what lives. */
static void making_a_plan_holds_the_launches_of_few_steps(void **state)
{
    (void)state;
    assert_true(!FOLDS || bytes_per_step(false) < 500);
    assert_true(!FOLDS || bytes_per_step(true) < 2600);
}

/* Whether replays have the bits of calls. Returns the number of launches. */
static size_t replays_made(made *m)
{
    adz_tensor *wanted[4];
    adz_plan_info info;
    adz_plan *plan = adz_plan_new_many(run_made, m, 4, NULL);
    assert_non_null(plan);
    for (int i = 0; i < 4; ++i) {
        const bool before = adz_set_grad_enabled(false);
        adz_copy_(m->xs, adz_randn_like(m->xs));
        adz_set_grad_enabled(before);
        assert_int_equal(run_made(wanted, m), ADZ_OK);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        for (size_t k = 0; k < 4; ++k) {
            assert_true(same_bits(adz_plan_result_at(plan, k), wanted[k]));
        }
    }
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured);
    adz_plan_free(&plan);
    return info.launches;
}

static void a_step_that_differs_divides_a_loop(void **state)
{
    (void)state;
    for (int trains = 0; trains < 2; ++trains) {
        made m = made_new(FOLDS ? 2000 : 20, trains);
        const size_t whole = replays_made(&m);
        m.odd = FOLDS ? 1234 : 12;
        const size_t odd = replays_made(&m);
        m.strange = m.odd;
        m.odd = -1;
        const size_t strange = replays_made(&m);
        assert_true(odd > whole && strange >= whole);
        assert_true(!FOLDS || (odd < 3 * whole + 100 && strange < 3 * whole + 100));
    }
}

/* The state of a step in the middle lives longer than the steps, and so does the loop around it. */
static void what_is_made_in_the_middle_of_a_loop_may_last(void **state)
{
    (void)state;
    for (int trains = 0; trains < 2; ++trains) {
        for (int64_t kept = 0; kept < 2000; kept += 333) {
            made m = made_new(FOLDS ? 2000 : 20, trains);
            m.kept = FOLDS ? kept : kept / 100;
            assert_true(replays_made(&m) > 0);
        }
    }
}

/* A state that the program keeps for good is another tensor in each call, so no plan is made. */
static adz_tensor *run_keeping(void *user)
{
    made *m = user;
    adz_tensor *found[2];
    m->step = 0;
    adz_release(&m->lasting);
    return adz_scan(made_step, m, &m->h, 1, &m->xs, 1, 1, NULL, found) == ADZ_OK
               ? adz_sum(found[1], ADZ_ALL_DIMS, ADZ_DROPDIM)
               : NULL;
}

static void a_state_that_is_kept_tears_the_loop(void **state)
{
    (void)state;
    made m = made_new(FOLDS ? 2000 : 20, false);
    m.kept = FOLDS ? 900 : 9;
    adz_plan *plan = adz_plan_new(run_keeping, &m, NULL);
    assert_non_null(plan);
    const double wanted = adz_item(run_keeping(&m));
    for (int i = 0; i < 8 && adz_plan_run(plan) == ADZ_OK; ++i) {
        assert_true(adz_item(adz_plan_output(plan)) == wanted);
    }
    adz_error_clear();
    adz_plan_free(&plan);
    adz_release(&m.lasting);
}

const struct CMUnitTest loops_making[N_LOOPS_MAKING] = {
    TEST(making_a_plan_holds_the_launches_of_few_steps),
    TEST(a_step_that_differs_divides_a_loop),
    TEST(what_is_made_in_the_middle_of_a_loop_may_last),
    TEST(a_state_that_is_kept_tears_the_loop),
};
