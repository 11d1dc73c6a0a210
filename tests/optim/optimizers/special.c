/* Numbers at the limits: NaN, infinity, averages of one gradient, the first rectified step. */
#include "adze/optim/adam_family.h"
#include "adze/zoo.h"
#include "cases.h"
#include "tests.h"

/* The maximum of AMSGrad keeps a NaN, as torch.maximum does. */
static void a_nan_stays_the_largest_square(void **state)
{
    (void)state;
    for (int labml = 0; labml < 2; ++labml) {
        adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(20), ADZ_F64), true);
        adz_adam_options o = ADZ_ADAM_OPTIONS;
        o.amsgrad = true;
        adz_optimizer *adam =
            labml ? adz_labml_amsgrad_new(one(&w), 0.1, NULL) : adz_adam_new(one(&w), 0.1, &o);
        for (int t = 0; t < 3; ++t) {
            adz_tensor *g = adz_full(ADZ_SHAPE(20), 2, ADZ_F64);
            adz_tensor_data_f64(g)[7] = t == 1 ? NAN : 2;
            adz_optimizer_zero_grad(adam);
            adz_backward(adz_sum(adz_mul(w, g), ADZ_ALL_DIMS, false));
            assert_int_equal(adz_optimizer_step(adam), ADZ_OK);
        }
        adz_state_dict *kept = adz_state_dict_new();
        assert_int_equal(adzi_optimizer_collect(adam, kept), ADZ_OK);
        const double *most = NULL;
        for (size_t i = 0; i < adz_state_dict_count(kept); ++i) {
            if (strstr(adz_state_dict_name_at(kept, i), "max_exp_avg_sq") != NULL) {
                most = adz_tensor_data_f64(adz_state_dict_at(kept, i));
            }
        }
        assert_non_null(most);
        for (int i = 0; i < 20; ++i) {
            assert_true(isnan(most[i]) == (i == 7));
        }
        adz_state_dict_free(&kept);
        adz_optimizer_release(&adam);
    }
}

/* The mean of the gradients enters centered RMSprop squared, so that its sign shows in the state
 * alone. PyTorch calls it grad_avg. */
static void a_centered_rmsprop_keeps_the_mean(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_rmsprop_options o = ADZ_RMSPROP_OPTIONS;
    o.centered = true;
    adz_optimizer *rmsprop = adz_rmsprop_new(one(&w), 0.01, &o);
    take_steps(rmsprop, w, 0, 2);
    adz_state_dict *kept = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(rmsprop, kept), ADZ_OK);
    adz_tensor *mean = NULL;
    for (size_t i = 0; i < adz_state_dict_count(kept); ++i) {
        if (strcmp(adz_state_dict_name_at(kept, i), "state.0.grad_avg") == 0) {
            mean = adz_state_dict_at(kept, i);
        }
    }
    double expected[N];
    for (int i = 0; i < N; ++i) {
        expected[i] = 0.99 * 0.01 * gradient_at(i, 0) + 0.01 * gradient_at(i, 1);
    }
    assert_non_null(mean);
    assert_true(holds(mean, expected, 1e-15));
    adz_state_dict_free(&kept);
    adz_optimizer_release(&rmsprop);
}

/* Squares of large gradients overflow f32. The parameter then keeps its value, also if the square
 * of the mean overflows as well, and other elements go on. */
static void a_centered_rmsprop_outlives_a_large_gradient(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    adz_rmsprop_options o = ADZ_RMSPROP_OPTIONS;
    o.centered = true;
    adz_optimizer *rmsprop = adz_rmsprop_new(one(&w), 0.01, &o);
    for (int t = 0; t < 3; ++t) {
        static const float large[] = { 1e30F, 1 }, usual[] = { 1, 1 };
        adz_tensor *g = adz_tensor_from(t == 0 ? large : usual, ADZ_SHAPE(2), ADZ_F32);
        adz_optimizer_zero_grad(rmsprop);
        adz_backward(adz_sum(adz_mul(w, g), ADZ_ALL_DIMS, false));
        assert_int_equal(adz_optimizer_step(rmsprop), ADZ_OK);
    }
    assert_true(adz_tensor_data_f32(w)[0] == 1);
    assert_true(adz_tensor_data_f32(w)[1] < 0.9F && adz_tensor_data_f32(w)[1] > 0.5F);
    adz_optimizer_release(&rmsprop);
}

/* The mean square of equal gradients is the square of their mean. Rounding must not make the
 * difference negative, of which the root would be NaN. */
static void a_centered_rmsprop_stands_equal_gradients(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(40), ADZ_F32), true);
    adz_tensor *g = adz_add_number(adz_mul_number(adz_arange(0, 40, 1, ADZ_F32), 0.37), 0.1);
    adz_rmsprop_options o = ADZ_RMSPROP_OPTIONS;
    o.centered = true;
    o.alpha = 0.5;
    adz_optimizer *rmsprop = adz_rmsprop_new(one(&w), 0.01, &o);
    for (int t = 0; t < 100; ++t) {
        adz_optimizer_zero_grad(rmsprop);
        adz_backward(adz_sum(adz_mul(w, g), ADZ_ALL_DIMS, false));
        assert_int_equal(adz_optimizer_step(rmsprop), ADZ_OK);
    }
    assert_true(adz_item(adz_to(adz_all(adz_isfinite(w), ADZ_ALL_DIMS, false), ADZ_I64)) == 1);
    adz_optimizer_release(&rmsprop);
}

/* A step that was refused memory after its first state may fail again before it. */
static void a_step_may_fail_twice(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64), *v = start(ADZ_F64);
    adz_optimizer *o = adz_adam_new(one(&w), 0.1, NULL), *other = adz_adam_new(one(&v), 0.1, NULL);
    give_gradient(w, 0);
    for (int n = 2; n > 0; --n) {
        adzi_alloc_fail_at(n);
        adz_status status = adz_optimizer_step(o);
        bool reached = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true(status == ADZ_ERR_MEMORY && reached);
        adz_error_clear();
    }
    take_steps(o, w, 0, 2);
    take_steps(other, v, 0, 2);
    assert_true(adz_equal(w, v));
    adz_optimizer_release(&o);
    adz_optimizer_release(&other);
}

/* Without weight decay an infinite weight stays infinite: 0 times the weight would be NaN. The
 * steps of an optimizer that is `whole` are measured by the weights. */
static void an_infinite_weight_stays(void **state)
{
    (void)state;
    adz_adam_options amsgrad = ADZ_ADAM_OPTIONS;
    amsgrad.amsgrad = true;
    for (int k = 0; k <= n_cases; ++k) {
        adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(9), INFINITY, ADZ_F64), true);
        adz_optimizer *o =
            k < n_cases ? cases[k].make(one(&w)) : adz_adam_new(one(&w), 0.1, &amsgrad);
        bool decays = adz_optimizer_get(o, 0, "weight_decay") != 0;
        adz_error_clear();
        if (!decays && !adz_optimizer_type_of(o)->whole) {
            adz_tensor_set_grad(w, adz_ones(ADZ_SHAPE(9), ADZ_F64));
            assert_int_equal(adz_optimizer_step(o), ADZ_OK);
            assert_true(all_are(w, INFINITY));
        }
        adz_optimizer_release(&o);
    }
}

/* A beta of 0 is allowed: the average is then the last gradient. */
static void averages_may_be_of_one(void **state)
{
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        adz_tensor *w = start(ADZ_F64);
        adz_optimizer *o = cases[k].make(one(&w));
        bool has = !isnan(adz_optimizer_get(o, 0, "beta1"));
        adz_error_clear();
        assert_true(!has || (adz_optimizer_set(o, 0, "beta1", 0) == ADZ_OK &&
                                adz_optimizer_set(o, 0, "beta2", 0) == ADZ_OK));
        adz_optimizer_release(&o);
    }
}

/* PyTorch rectifies if rho > 5, the annotated library if rho >= 5. With this beta2, rho rises to
 * exactly 5 and then to the next larger double. */
static void rectification_begins_at_five(void **state)
{
    (void)state;
    const double beta2 = nextafter(2.0 / 3, 1);
    for (int labml = 0; labml < 2; ++labml) {
        adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(1), ADZ_F64), true);
        adz_radam_options o = ADZ_RADAM_OPTIONS;
        adz_labml_radam_options l = ADZ_LABML_RADAM_OPTIONS;
        o.beta2 = l.beta2 = beta2;
        l.degenerated_to_sgd = true;
        adz_optimizer *radam =
            labml ? adz_labml_radam_new(one(&w), 1, &l) : adz_radam_new(one(&w), 1, &o);
        int below = 0, at = 0, above = 0;
        for (int t = 1; t <= 200; ++t) {
            double before = adz_item(w), rho;
            adz_optimizer_zero_grad(radam);
            adz_backward(adz_mul_number(w, 2));
            assert_int_equal(adz_optimizer_step(radam), ADZ_OK);
            double step = before - adz_item(w);
            adz_radam_rectification(beta2, t, &rho);
            below += rho < 5 ? 1 : 0;
            at += rho == 5 ? 1 : 0;
            above += rho > 5 ? 1 : 0;
            /* A rectified step has length 1, a step along the gradient length 2. */
            bool rectified = labml ? rho >= 5 : rho > 5;
            assert_true(fabs(step - (rectified ? 1 : 2)) < 1e-6);
        }
        assert_true(below > 0 && at > 0 && above > 0);
        adz_optimizer_release(&radam);
    }
}

int special_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_nan_stays_the_largest_square),
        TEST(a_centered_rmsprop_keeps_the_mean),
        TEST(a_centered_rmsprop_outlives_a_large_gradient),
        TEST(a_centered_rmsprop_stands_equal_gradients),
        TEST(a_step_may_fail_twice),
        TEST(an_infinite_weight_stays),
        TEST(averages_may_be_of_one),
        TEST(rectification_begins_at_five),
    };
    return cmocka_run_group_tests_name(
        "optimizers: special", tests, temporary_begin, temporary_end);
}
