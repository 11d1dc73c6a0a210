/* A plan updates a parameter as soon as its gradient is complete (src/plan/updates.c).
 *
 * Each test trains two equal networks, one by a plan and one by ordinary steps, and compares their
 * bits after each step. The functions differ in what they do with parameters and gradients besides
 * the step.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "base/threads/parallel.h"
#include "errors.h"

enum { DEPTH = 6, WIDTH = 32, ROWS = 2, STEPS = 5, GRADIENT = WIDTH * WIDTH * sizeof(float) };

typedef struct twin {
    adz_tensor *w[DEPTH]; /* the parameters */
    adz_tensor *unused;   /* a parameter that the loss does not depend on */
    adz_tensor *x, *y, *average, *before, *held, *condition;
    adz_optimizer *optimizer;
    adz_flat_parameters *flat; /* or NULL */
    adz_plan_function compute;
} twin;

static adz_tensor *parameter(void)
{
    adz_tensor *t = adz_mul_number(adz_randn(ADZ_SHAPE(WIDTH, WIDTH), ADZ_F32), 0.2);
    return adz_requires_grad_(adz_keep(t), true);
}

static twin begin(adz_plan_function compute, bool flat)
{
    twin t = { .compute = compute };
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(5);
    adz_tensor *all[DEPTH + 1];
    for (int i = 0; i < DEPTH; ++i) {
        all[i] = t.w[i] = parameter();
    }
    all[DEPTH] = t.unused = parameter();
    const adz_tensor_list list = { all, DEPTH + 1 };
    t.flat = flat ? adz_flat_parameters_new(list) : NULL;
    t.optimizer = adz_adam_new(list, 0.01, NULL);
    t.x = adz_keep(adz_randn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32));
    t.y = adz_keep(adz_randn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32));
    t.average = adz_keep(adz_zeros(ADZ_SHAPE(WIDTH, WIDTH), ADZ_F32));
    t.before = adz_keep(adz_zeros(ADZ_SHAPE(WIDTH, WIDTH), ADZ_F32));
    t.condition = adz_keep(adz_ones(ADZ_SHAPE(1), ADZ_BOOL));
    assert_non_null(t.optimizer);
    assert_non_null(t.condition);
    adz_scope_close(scope);
    return t;
}

static void end(twin *t)
{
    adz_optimizer_release(&t->optimizer);
    adz_flat_parameters_free(&t->flat);
    adz_tensor **all[] = { &t->unused, &t->x, &t->y, &t->average, &t->before, &t->held,
        &t->condition };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        adz_release(all[i]);
    }
    for (int i = 0; i < DEPTH; ++i) {
        adz_release(&t->w[i]);
    }
}

/* ---- what is captured ------------------------------------------------------------------------ */

static adz_tensor *loss_of(const twin *t)
{
    adz_tensor *h = t->x;
    for (int i = 0; i < DEPTH; ++i) {
        h = adz_tanh(adz_linear(h, t->w[i], ADZ_NONE));
    }
    return adz_mse_loss(h, t->y, ADZ_REDUCE_MEAN);
}

static adz_tensor *finish(const twin *t, adz_tensor *loss)
{
    const bool done = adz_optimizer_step(t->optimizer) == ADZ_OK &&
                      adz_optimizer_zero_grad(t->optimizer) == ADZ_OK;
    return done ? loss : NULL;
}

static adz_tensor *plain(void *user)
{
    adz_tensor *loss = loss_of(user);
    return adz_backward(loss) == ADZ_OK ? finish(user, loss) : NULL;
}

static adz_tensor *keeps_gradients(void *user)
{
    twin *t = user;
    adz_optimizer_zero_grad(t->optimizer);
    adz_tensor *loss = loss_of(t);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(t->optimizer) == ADZ_OK ? loss : NULL;
}

static adz_tensor *clips(void *user)
{
    twin *t = user;
    adz_tensor *loss = loss_of(t);
    adz_backward(loss);
    assert_int_equal(adz_clip_grads((adz_tensor_list){ t->w, DEPTH }, 0.01, 2), ADZ_OK);
    return finish(t, loss);
}

/* The first weight is used by two layers, and transposed by a third one. */
static adz_tensor *ties(void *user)
{
    twin *t = user;
    adz_tensor *h = adz_tanh(adz_linear(t->x, t->w[0], ADZ_NONE));
    h = adz_tanh(adz_linear(h, t->w[1], ADZ_NONE));
    h = adz_tanh(adz_linear(h, t->w[0], ADZ_NONE));
    h = adz_matmul(h, t->w[0]);
    adz_tensor *loss = adz_mse_loss(h, t->y, ADZ_REDUCE_MEAN);
    return adz_backward(loss) == ADZ_OK ? finish(t, loss) : NULL;
}

static adz_tensor *accumulates(void *user)
{
    twin *t = user;
    adz_backward(loss_of(t));
    adz_tensor *loss = adz_mul_number(loss_of(t), 0.5);
    return adz_backward(loss) == ADZ_OK ? finish(t, loss) : NULL;
}

/* A gradient that the program holds lives on. */
static adz_tensor *holds(void *user)
{
    twin *t = user;
    adz_tensor *loss = loss_of(t);
    adz_backward(loss);
    adz_release(&t->held);
    t->held = adz_keep(adz_tensor_grad(t->w[2]));
    return finish(t, loss);
}

/* Reads weights between the backward and the step, and after the step. */
static adz_tensor *averages(void *user)
{
    twin *t = user;
    adz_tensor *loss = loss_of(t);
    adz_backward(loss);
    ADZ_NO_GRAD
    {
        adz_copy_(t->before, adz_transpose(t->w[5], 0, 1));
    }
    adz_optimizer_step(t->optimizer);
    ADZ_NO_GRAD
    {
        adz_mul_number_(t->average, 0.9);
        adz_add_scaled_(t->average, t->w[5], 0.1);
    }
    adz_optimizer_zero_grad(t->optimizer);
    return loss;
}

/* Changes a weight and a gradient between the backward and the step, and makes two steps. */
static adz_tensor *meddles(void *user)
{
    twin *t = user;
    adz_tensor *loss = loss_of(t);
    adz_backward(loss);
    ADZ_NO_GRAD
    {
        adz_mul_number_(t->w[4], 0.99);
        adz_mul_number_(adz_tensor_grad(t->w[3]), 2);
    }
    adz_optimizer_step(t->optimizer);
    return finish(t, loss);
}

/* Changes all parameters at once, through the buffer in which they lie. */
static adz_tensor *decays(void *user)
{
    twin *t = user;
    adz_tensor *loss = loss_of(t);
    adz_backward(loss);
    ADZ_NO_GRAD
    {
        adz_mul_number_(adz_flat_parameters_values(t->flat, 0), 0.99);
    }
    adz_flat_parameters_touch(t->flat);
    return finish(t, loss);
}

static adz_tensor *checks(void *user)
{
    twin *t = user;
    adz_tensor *loss = loss_of(t);
    adz_backward(loss);
    const adz_status status = adz_assert_all(t->condition, "the step is not wanted");
    return status == ADZ_OK ? finish(t, loss) : NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void assert_same(const adz_tensor *a, const adz_tensor *b, int step, int i)
{
    if ((a == NULL) != (b == NULL) ||
        (a != NULL && memcmp(adz_tensor_data((adz_tensor *)(uintptr_t)a),
                          adz_tensor_data((adz_tensor *)(uintptr_t)b), GRADIENT) != 0)) {
        fail_msg("step %d: tensor %d differs", step, i);
    }
}

static void assert_same_twins(const twin *a, const twin *b, int step)
{
    for (int i = 0; i < DEPTH; ++i) {
        assert_same(a->w[i], b->w[i], step, i);
    }
    assert_same(a->average, b->average, step, DEPTH);
    assert_same(a->before, b->before, step, DEPTH + 1);
    assert_same(a->held, b->held, step, DEPTH + 2);
    assert_same(a->unused, b->unused, step, DEPTH + 3);
}

/* Compares a plan with ordinary steps and returns the bytes of its memory. */
static size_t compare(adz_plan_function compute, bool flat)
{
    twin planned = begin(compute, flat), ordinary = begin(compute, flat);
    adz_plan *plan = adz_plan_new(compute, &planned, NULL);
    if (plan == NULL) {
        fail_msg("%s", adz_error_message());
    }
    for (int k = 0; k < STEPS; ++k) {
        if (k > 0 && adz_plan_run(plan) != ADZ_OK) {
            fail_msg("step %d: %s", k, adz_error_message());
        }
        adz_scope *scope = adz_scope_open();
        adz_tensor *loss = compute(&ordinary);
        assert_true(adz_item(loss) == adz_item(adz_plan_output(plan)));
        adz_scope_close(scope);
        assert_same_twins(&planned, &ordinary, k);
        adz_optimizer_set(planned.optimizer, -1, "lr", 0.01 / (k + 1));
        adz_optimizer_set(ordinary.optimizer, -1, "lr", 0.01 / (k + 1));
    }
    adz_plan_info info;
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured && info.captures == 1);
    adz_plan_free(&plan);
    end(&planned);
    end(&ordinary);
    return info.memory_bytes;
}

/* Without clipping, no more than two gradients are alive at a time. A compiler that cannot clear
 * padding leaves addresses in doubt, and a block in doubt does not move. */
static void gradients_are_not_in_memory_at_one_time(void **state)
{
    (void)state;
    const size_t soon = compare(plain, false), late = compare(clips, false);
#ifdef ADZI_CLEARS_PADDING
    assert_true(soon < 3 * GRADIENT);
    assert_true(late >= DEPTH * GRADIENT);
#else
    assert_true(soon <= late);
#endif
}

static void gradients_may_live_on(void **state)
{
    (void)state;
    compare(keeps_gradients, false);
    compare(holds, false);
}

static void a_weight_may_be_used_several_times(void **state)
{
    (void)state;
    compare(ties, false);
    compare(accumulates, false);
}

static void what_reads_and_writes_weights_keeps_its_position(void **state)
{
    (void)state;
    compare(averages, false);
    compare(meddles, false);
}

static void parameters_may_lie_in_one_buffer(void **state)
{
    (void)state;
    compare(plain, true);
    compare(averages, true);
    compare(decays, true);
}

/* A check that fails before the step leaves all parameters as they are. */
static void a_run_that_fails_updates_nothing(void **state)
{
    (void)state;
    twin t = begin(checks, false);
    adz_plan *plan = adz_plan_new(checks, &t, NULL);
    adz_scope *scope = adz_scope_open();
    for (int k = 0; k < 3; ++k) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    adz_tensor *before[DEPTH];
    for (int i = 0; i < DEPTH; ++i) {
        before[i] = adz_clone(adz_detach(t.w[i]));
    }
    *(bool *)adz_tensor_data(t.condition) = false;
    assert_int_not_equal(adz_plan_run(plan), ADZ_OK);
    expect_error(ADZ_ERR_ARGUMENT, "the step is not wanted");
    for (int i = 0; i < DEPTH; ++i) {
        assert_same(before[i], t.w[i], 3, i);
    }
    adz_scope_close(scope);
    adz_plan_free(&plan);
    end(&t);
}

static void refused_memory(void **state)
{
    (void)state;
    twin t = begin(plain, false);
    adz_scope *scope = adz_scope_open();
    assert_non_null(plain(&t)); /* makes the optimizer's state */
    adz_scope_close(scope);
    const int64_t live = adzi_live_bytes();
    bool failed = true;
    for (int64_t k = 1; failed; ++k) {
        adzi_alloc_fail_at(k);
        adz_plan *plan = adz_plan_new(plain, &t, NULL);
        const adz_status status = plan != NULL ? adz_plan_run(plan) : adz_error_code();
        failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true(status == ADZ_ERR_MEMORY || (status == ADZ_OK && plan != NULL));
        adz_error_clear();
        adz_plan_free(&plan);
        adz_optimizer_zero_grad(t.optimizer);
        assert_int_equal(adzi_live_bytes(), live);
        assert_true(failed || k > 100);
    }
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_not_in_memory_at_one_time),
        cmocka_unit_test(gradients_may_live_on),
        cmocka_unit_test(a_weight_may_be_used_several_times),
        cmocka_unit_test(what_reads_and_writes_weights_keeps_its_position),
        cmocka_unit_test(parameters_may_lie_in_one_buffer),
        cmocka_unit_test(a_run_that_fails_updates_nothing),
        cmocka_unit_test(refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
