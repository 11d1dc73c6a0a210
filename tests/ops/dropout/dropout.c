#include "ops/case.h"

#include <math.h>

/* p[0] = p, p[1] = training, p[2] = seed. Every call gets the seed, so that it draws an equal mask.
 */
static int call_dropout(const op_args *args, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new((uint64_t)args->p[2]);
    if (generator == NULL) {
        return 0;
    }
    adz_tensor *y = adz_dropout(args->in[0], args->p[0], args->p[1] != 0, generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

static void p_zero_and_evaluation_return_x_itself(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(1);
    adz_tensor *x = adz_ones(ADZ_SHAPE(10), ADZ_F32);
    assert_ptr_equal(adz_dropout(x, 0, true, generator), x);
    assert_ptr_equal(adz_dropout(x, 0.5, false, generator), x);
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    adz_generator_free(&generator);
    adz_scope_close(scope);
}

static void p_one_gives_zeros_and_draws_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(1);
    adz_tensor *y = adz_dropout(adz_ones(ADZ_SHAPE(130), ADZ_F32), 1, true, generator);
    assert_true(adz_equal(y, adz_zeros(ADZ_SHAPE(130), ADZ_F32)));
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    adz_generator_free(&generator);
    adz_scope_close(scope);
}

static void the_mask_is_the_bernoulli_draw_of_the_same_state(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(7);
    adz_generator_state before = adz_generator_get_state(generator);
    const double keep = 0.8125;
    adz_tensor *x = adz_ones(ADZ_SHAPE(30, 40), ADZ_F64);
    adz_tensor *y = adz_dropout(x, 1 - keep, true, generator);
    adz_generator_state after = adz_generator_get_state(generator);
    assert_true(after.offset > before.offset);
    adz_generator_set_state(generator, before);
    adz_tensor *mask = adz_generator_bernoulli(generator, keep, ADZ_SHAPE(30, 40), ADZ_BOOL);
    assert_int_equal(adz_generator_get_state(generator).offset, after.offset);
    assert_true(adz_allclose(y, adz_dropout_mask(x, mask, keep), 1e-15, 0, false));
    adz_generator_free(&generator);
    adz_scope_close(scope);
}

static void the_share_kept_is_as_asked_and_the_mean_stays(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    const double n = 100000;
    adz_tensor *x = adz_ones(ADZ_SHAPE(100000), ADZ_F32);
    double mean = adz_item(adz_mean(adz_dropout(x, 0.3, true, NULL), ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(fabs(mean - 1) < 5 * sqrt(0.3 / 0.7 / n));
    adz_tensor *a = adz_dropout(x, 0.3, true, NULL), *b = adz_dropout(x, 0.3, true, NULL);
    assert_false(adz_equal(a, b)); /* the generator has advanced */
    adz_scope_close(scope);
}

static void backward_uses_the_mask_of_the_forward(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(50, 3), ADZ_F32), true);
    adz_tensor *turned = adz_transpose(x, 0, 1);
    adz_tensor *y = adz_dropout(turned, 0.5, true, NULL);
    adz_dropout(turned, 0.5, true, NULL); /* draws before the backward must not change it */
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_true(adz_equal(adz_transpose(adz_tensor_grad(x), 0, 1), y)); /* x is 1 everywhere */
    adz_scope_close(scope);
}

static void a_failed_call_draws_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(1);
    assert_null(adz_dropout(adz_ones(ADZ_SHAPE(3), ADZ_F32), 1.5, true, generator));
    assert_null(adz_dropout(adz_ones(ADZ_SHAPE(3), ADZ_I64), 0.5, true, generator));
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    adz_error_clear();
    adz_generator_free(&generator);
    adz_scope_close(scope);
}

static void nan_is_not_dropped(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_dropout(adz_full(ADZ_SHAPE(100), NAN, ADZ_F64), 0.9, true, NULL);
    for (int64_t i = 0; i < 100; ++i) {
        assert_true(isnan(adz_tensor_at(y, &i)));
    }
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(p_zero_and_evaluation_return_x_itself),
    cmocka_unit_test(p_one_gives_zeros_and_draws_nothing),
    cmocka_unit_test(the_mask_is_the_bernoulli_draw_of_the_same_state),
    cmocka_unit_test(the_share_kept_is_as_asked_and_the_mean_stays),
    cmocka_unit_test(backward_uses_the_mask_of_the_forward),
    cmocka_unit_test(a_failed_call_draws_nothing),
    cmocka_unit_test(nan_is_not_dropped),
};

const op_case dropout_case = {
    .name = "dropout",
    .call = call_dropout,
    .samples = {
        { .in = { IN(10) }, .p = { 0.5, 1, 1 } },
        { .in = { IN(3, 5) }, .p = { 0.2, 1, 2 } },
        { .in = { IN_T(4, 7) }, .p = { 0.3, 1, 3 } },
        { .in = { IN(2, 1, 6) }, .p = { 0.25, 1, 4 } },
        { .in = { IN(0, 3) }, .p = { 0.5, 1, 5 } },
        { .in = { IN_T(2, 3, 30) }, .p = { 0.9, 1, 6 } },
        { .in = { IN(70) }, .p = { 0.1, 1, 7 } },
        { .in = { IN(65) }, .p = { 0.5, 1, 8 } },
        { .in = { IN(5, 13, 63) }, .p = { 0.5, 1, 9 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { -0.1, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "[0, 1]" },
        { .in = { IN(3) }, .p = { NAN, 1, 1 }, .status = ADZ_ERR_ARGUMENT },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0.5, 1, 1 }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
