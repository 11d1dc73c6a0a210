#include "ops/facts.h"

/* p[0] = lower, p[1] = upper, p[2] = training, p[3] = seed, so that each call draws the same. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new((uint64_t)a->p[3]);
    if (generator == NULL) {
        return 0;
    }
    adz_tensor *y = adz_rrelu(a->in[0], a->p[0], a->p[1], a->p[2] != 0, generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

FACT(in_evaluation_the_slope_is_in_the_middle)
{
    const double inf = (double)INFINITY;
    adz_tensor *x = LEAF(-inf, -2, 0, 3, inf, (double)NAN);
    adz_generator *generator = adz_generator_new(1);
    adz_tensor *y = adz_rrelu(x, 0.25, 0.5, false, generator);
    ASSERT_VALUES(y, ADZ_F64, -inf, -0.75, 0, 3, inf, (double)NAN);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0.375, 0.375, 0.375, 1, 1, 0.375);
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    adz_generator_free(&generator);
}

FACT(in_training_each_element_has_a_slope)
{
    adz_generator *generator = adz_generator_new(7);
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(1000), -2, ADZ_F64), true);
    adz_tensor *y = adz_rrelu(x, 0.125, 0.5, true, generator);
    adz_tensor *slopes = gradient_of(y, x);
    assert_true(adz_equal(y, adz_mul_number(slopes, -2)));
    const double least = adz_item(adz_amin(slopes, ADZ_ALL_DIMS, ADZ_DROPDIM));
    const double most = adz_item(adz_amax(slopes, ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(least >= 0.125 && least < 0.13 && most < 0.5 && most > 0.495);
    assert_true(fabs(adz_item(adz_mean(slopes, ADZ_ALL_DIMS, ADZ_DROPDIM)) - 0.3125) < 0.02);
    assert_false(adz_equal(y, adz_rrelu(x, 0.125, 0.5, true, generator)));
    adz_generator_free(&generator);
}

FACT(in_training_numbers_above_0_stay)
{
    const double inf = (double)INFINITY;
    adz_tensor *x = LEAF(1e-300, 3, inf, (double)NAN), *y = adz_rrelu(x, 0.25, 0.25, true, NULL);
    ASSERT_VALUES(y, ADZ_F64, 1e-300, 3, inf, (double)NAN);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 1, 1, 1);
    ASSERT_VALUES(adz_rrelu(VALUES(ADZ_F32, -8, 0), 0.25, 0.25, true, NULL), ADZ_F32, -2, 0);
}

FACT(the_same_bits_for_any_number_of_threads)
{
    adz_tensor *x = adz_neg(adz_ones(ADZ_SHAPE(300, 700), ADZ_F32)), *y[2];
    for (int i = 0; i < 2; ++i) {
        adz_generator *generator = adz_generator_new(5);
        adz_set_num_threads(1 + 3 * i);
        y[i] = adz_rrelu(x, 0.125, 1.0 / 3, true, generator);
        adz_generator_free(&generator);
    }
    adz_set_num_threads(0);
    assert_true(adz_equal(y[0], y[1]));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(in_evaluation_the_slope_is_in_the_middle),
    cmocka_unit_test(in_training_each_element_has_a_slope),
    cmocka_unit_test(in_training_numbers_above_0_stay),
    cmocka_unit_test(the_same_bits_for_any_number_of_threads),
};

const op_case rrelu_case = {
    .name = "rrelu",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) }, .p = { 0.125, 0.5, 1, 1 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 0.125, 0.5, 0, 1 } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) }, .p = { -1, 1, 1, 2 } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) }, .p = { 0.125, 0.5, 1, 1 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { 0.125, 0.5, 1, 3 } },
        { .in = { IN_OF(FILL_AWAY, 37) }, .p = { 0.25, 0.25, 1, 4 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 0.5, 0.25, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "not above upper" },
        { .in = { IN(3) }, .p = { 0.5, INFINITY, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "finite" },
        { .in = { IN(3) }, .p = { NAN, 1, 0 }, .status = ADZ_ERR_ARGUMENT },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
